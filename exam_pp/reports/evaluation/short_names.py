"""Short names of prompts in reports and messages for readers, in place of the names in files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exam_pp.rendering.document import Block, Cell, Report

_MAYBE = re.compile(r"[a-z][A-Z]")
"""Part of every name that is replaced. Most texts lack it, so that they do not need the slow import."""


def with_short_names(text: str) -> str:
    """The text with the short names of prompts in place of those in files.

    Names of a single word stay, since they could be any word, and so do parts of longer names and paths.
    """
    if not _MAYBE.search(text):
        return text
    pattern, short = _names()
    return pattern.sub(lambda match: f"{_noun(match)}{short[match['name']]}", text)


def _noun(match: re.Match[str]) -> str:
    noun: str = match["noun"] or ""
    return noun.replace("prompt classes", "prompts").replace("prompt class", "prompt")


@cache
def _names() -> tuple[re.Pattern[str], Mapping[str, str]]:
    from exam_pp.metrics.measures import MeasureName
    from exam_pp.prompts import PROMPTS

    # FactualConsistency is also a measure.
    short = {
        name: shown
        for name, shown in PROMPTS.short_names().items()
        if _MAYBE.search(name) and not MeasureName(name).is_share
    }
    names = "|".join(sorted(map(re.escape, short), key=len, reverse=True))
    return re.compile(
        rf"(?P<noun>\bprompt class(?:es)? )?(?<![\w/.\-])(?P<name>{names})(?![\w/\-]|\.\w)"
    ), short


def for_readers(report: Report) -> Report:
    """The report with short names of prompts; quoted texts keep theirs.

    Args:
        report: A report with names of prompts as in files.

    Returns:
        A new report, for text and HTML.
    """
    from dataclasses import replace

    from exam_pp.rendering.document import Report

    provenance = report.provenance
    if provenance is not None:
        prompts = tuple(map(with_short_names, provenance.prompt_classes))
        provenance = replace(provenance, prompt_classes=(), prompts=prompts)
    return Report(with_short_names(report.title), list(map(_block, report.blocks)), provenance)


def _block(block: Block) -> Block:
    from dataclasses import replace

    from exam_pp.rendering.document import (
        Bars,
        Checks,
        Fold,
        Heading,
        Link,
        Paragraph,
        Picture,
        Quote,
        Statement,
        Table,
    )

    match block:
        case Table():
            return replace(
                block,
                columns=[_column(name) for name in block.columns],
                rows=[list(map(_cell, row)) for row in block.rows],
                title=with_short_names(block.title),
            )
        case Paragraph(text):
            return Paragraph(with_short_names(text))
        case Heading(text, level):
            return Heading(with_short_names(text), level)
        case Link(text, target):
            return Link(with_short_names(text), target)
        case Statement(text, headline):
            return Statement(with_short_names(text), with_short_names(headline))
        case Bars():
            notes = list(map(with_short_names, block.notes))
            return replace(block, about=with_short_names(block.about), notes=notes)
        case Checks(title, lines):
            shown = [
                each._replace(lead=with_short_names(each.lead), text=with_short_names(each.text))
                for each in lines
            ]
            return Checks(title, shown)
        case Fold():
            return replace(block, about=with_short_names(block.about), blocks=list(map(_block, block.blocks)))
        case Quote(label=label):
            return replace(block, label=with_short_names(label))
        case Picture():
            return Picture(
                with_short_names(block.title),
                with_short_names(block.description),
                with_short_names(block.caption),
                block.width,
                block.height,
                with_short_names(block.shapes),
            )


def _column(name: str) -> str:
    return "prompt" if name == "prompt class" else with_short_names(name)


def _cell(cell: Cell) -> Cell:
    return with_short_names(cell) if isinstance(cell, str) else cell
