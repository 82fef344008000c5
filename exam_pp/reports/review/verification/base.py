"""Base class of verification reports: title, summary, blocks for readers, and a flat table for scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from exam_pp.packed import LazySequence
from exam_pp.phases.review.verification.base import Selection
from exam_pp.phases.review.verification.verify import Verified
from exam_pp.rendering.document import Block, Paragraph, Report, Table
from exam_pp.text.wording import counted

S = TypeVar("S", bound=Selection)


@dataclass(frozen=True)
class VerificationReport(Generic[S]):
    """Functions that turn a selection into a report.

    ``summary`` gives a sentence with counts over all pairs or passages, shown or not. ``blocks`` gives the
    blocks below it, which may be generated lazily. ``table`` gives one flat table for scripts and
    spreadsheets.
    """

    title: str
    summary: Callable[[S], str]
    blocks: Callable[[S], Iterable[Block]]
    table: Callable[[S], Table]

    def report(self, verified: Verified[S], *, flat: bool = False) -> Report:
        """The report of a selection; with ``flat`` only the table for scripts."""
        title = f"{self.title}: {verified.prompt_class} by {verified.model}"
        selection = verified.selection
        if flat:
            return Report(title, [self.table(selection)], verified.provenance)
        return Report(
            title,
            LazySequence(lambda: chain([Paragraph(self.summary(selection))], self.blocks(selection))),
            verified.provenance,
        )


def omission(count: int, noun: str, shown: int) -> list[Block]:
    """A line with the number of items that are not shown; empty for 0. ``noun`` is the singular."""
    if not count:
        return []
    name = f"more {noun}" if shown else noun
    return [Paragraph(f"{counted(count, name)} {'is' if count == 1 else 'are'} not shown.")]


def without_empty_columns(table: Table) -> Table:
    """The table without columns that are empty in every row."""
    kept = [i for i, _ in enumerate(table.columns) if any(row[i] not in (None, "") for row in table.rows)]
    if not table.rows:
        return table
    columns = [table.columns[i] for i in kept]
    return Table(columns, [[row[i] for i in kept] for row in table.rows], table.title, table.decimals)
