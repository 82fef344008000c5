"""``exam-pp diff``: comparison of two gradings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    LABEL_RULE,
    MIN_GRADE,
    emit_report,
    format_option,
    grade_filter,
    grades_options,
    model_names,
    of_each_side,
    output_option,
    prompt_option,
)


@click.command("diff", cls=Command)
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option(
    "--bank",
    "banks",
    type=FILE,
    multiple=True,
    callback=of_each_side,
    help="Test bank; only its entries count. Name it twice for BEFORE and AFTER.  [default: all graded "
    "entries]",
)
@click.option(
    "--grader",
    "graders",
    shell_complete=model_names,
    metavar="NAME",
    multiple=True,
    callback=of_each_side,
    help="Only grades by this model, or reviewer (human:NAME). Name it twice for BEFORE and AFTER.",
)
@prompt_option(
    "Only grades with this prompt. Name it twice for BEFORE and AFTER.",
    "prompt_classes",
    multiple=True,
    callback=of_each_side,
)
@grades_options
@click.option(
    "--only",
    type=click.Choice(["labels"]),
    multiple=True,
    help="List only the passages whose relevance label changes (labels).",
)
@LABEL_RULE
@MIN_GRADE
@CUTOFF
@format_option()
@output_option()
def command(
    *,
    before: Path,
    after: Path,
    banks: tuple[Path | None, Path | None],
    graders: tuple[str | None, str | None],
    prompt_classes: tuple[str | None, str | None],
    only: tuple[str, ...],
    label_rule: str | None,
    min_grade: int | None,
    cutoff: int | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Compare two gradings: changed ratings, relevance labels and ranks of systems.

    BEFORE and AFTER are graded files. They can be the same file with two models or prompts. To see how an
    edit of the bank changes the labels, name both banks, and use --only labels.

    Example:

    \b
      exam-pp diff two-models.jsonl.gz two-models.jsonl.gz \\
        --prompt self-rated \\
        --grader google/flan-t5-base --grader google/flan-t5-large
    """
    from exam_pp.metrics.qrels import LabelRule
    from exam_pp.phases.evaluation.inputs import loaded
    from exam_pp.reports.analysis.diff import Grading, diff_report, labels_report

    passages = {file: loaded(file) for file in dict.fromkeys((before, after))}
    sides = [
        Grading(passages[file], grade_filter(grader, prompt_class, **criteria), bank)
        for file, grader, prompt_class, bank in zip(
            (before, after), graders, prompt_classes, banks, strict=True
        )
    ]
    labelling = None if label_rule is None else LabelRule.parse(label_rule)
    if only:
        report = labels_report(*sides, labelling=labelling)
    else:
        report = diff_report(*sides, labelling=labelling, min_grade=min_grade, cutoff=cutoff)
    emit_report(report, form, output, [before, after, *banks])
