"""``exam-pp diff``: two gradings compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    LABEL_RULE,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
)


@click.command("diff")
@click.argument("before", type=FILE)
@click.argument("after", type=FILE)
@click.option("--bank", type=FILE, help="Test bank of BEFORE: only its entries count there.")
@click.option("--bank-after", type=FILE, help="Test bank of AFTER, if it is another.")
@click.option("--model-after", help="Grades by this model in AFTER, where --model is that of BEFORE.")
@click.option("--prompt-class-after", help="Grades made with this prompt in AFTER.")
@click.option("--labels", is_flag=True, help="List the passages whose relevance label changes.")
@LABEL_RULE
@click.option("--min-grade", type=int, help="Grade from which systems cover an entry. [default: as evaluate]")
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
    model_after: str | None,
    prompt_class_after: str | None,
    labels: bool,
    label_rule: str | None,
    min_grade: int | None,
    cutoff: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """What changes from the grades in BEFORE to those in AFTER: grades, labels, the order of systems.

    Both may be the same file, with another model or prompt. After an edit of the bank, --bank and
    --bank-after with --labels list the passages whose label the edit changes.
    """
    from exam_pp.metrics.passage_labels import LabelRule
    from exam_pp.phases.analysis.grading_diff import Grading, compare_systems, diff, entry_texts
    from exam_pp.reports.analysis.grading_diff import diff_report, labels_report

    named = {"model": model_after, "prompt_class": prompt_class_after}
    of_after = criteria | {name: value for name, value in named.items() if value is not None}
    sides = (
        Grading(before, grade_filter(**criteria), bank),
        Grading(after, grade_filter(**of_after), bank_after or bank),
    )
    found = diff(*sides, labelling=None if label_rule is None else LabelRule.parse(label_rule))
    if labels:
        report = labels_report(found.labels)
    else:
        texts = entry_texts(*sides)
        report = diff_report(found, compare_systems(*sides, min_grade=min_grade, cutoff=cutoff), texts)
    emit_report(report, form, output, [before, after, bank, bank_after])
