"""``exam-pp diff``: comparison of two gradings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.completion import model_names, prompt_names
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    LABEL_RULE,
    MIN_GRADE,
    bank_option,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
)


@click.command("diff", cls=Command)
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@bank_option("Test bank; only its entries count.", default="all graded entries")
@click.option("--bank-after", type=FILE, help="Test bank of AFTER.  [default: --bank]")
@click.option(
    "--grader-after",
    shell_complete=model_names,
    metavar="NAME",
    help="Only grades by this model or reviewer in AFTER; --grader then selects in BEFORE.",
)
@click.option(
    "--prompt-class-after",
    shell_complete=prompt_names,
    metavar="NAME",
    help="Only grades with this prompt class in AFTER; --prompt-class then selects in BEFORE.",
)
@click.option("--labels", is_flag=True, help="List only the passages whose relevance label changes.")
@LABEL_RULE
@MIN_GRADE
@CUTOFF
@filter_options
@format_option()
@output_option()
def command(
    *,
    before: Path,
    after: Path,
    bank: Path | None,
    bank_after: Path | None,
    grader_after: str | None,
    prompt_class_after: str | None,
    labels: bool,
    label_rule: str | None,
    min_grade: int | None,
    cutoff: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Compare two gradings: changed ratings, relevance labels and ranks of systems.

    BEFORE and AFTER are graded files. They can be the same file with two models or prompts. To see how an
    edit of the bank changes the labels, use --bank and --bank-after with --labels.

    Example:

    \b
      exam-pp diff two-models.jsonl.gz two-models.jsonl.gz \\
        --prompt-class QuestionSelfRatedUnanswerablePromptWithChoices \\
        --grader google/flan-t5-base --grader-after google/flan-t5-large
    """
    from exam_pp.metrics.passage_labels import LabelRule
    from exam_pp.phases.analysis.grading_diff import Grading, compare_systems, diff, entry_texts
    from exam_pp.reports.analysis.grading_diff import diff_report, labels_report

    changed = {"grader": grader_after, "prompt_class": prompt_class_after}
    criteria_after = criteria | {name: value for name, value in changed.items() if value is not None}
    sides = (
        Grading(before, grade_filter(**criteria), bank),
        Grading(after, grade_filter(**criteria_after), bank_after or bank),
    )
    difference = diff(*sides, labelling=None if label_rule is None else LabelRule.parse(label_rule))
    if labels:
        report = labels_report(difference)
    else:
        systems = compare_systems(*sides, min_grade=min_grade, cutoff=cutoff)
        report = diff_report(difference, systems, entry_texts(*sides))
    emit_report(report, form, output, [before, after, bank, bank_after])
