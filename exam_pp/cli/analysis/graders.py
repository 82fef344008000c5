"""``exam-pp analyze graders``: how several graders agree with each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import (
    FILE,
    GRADED,
    LABEL_RULE,
    emit_figure,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
    plot_option,
)


@click.command("graders")
@GRADED
@click.option("--bank", type=FILE, help="Test bank: which entries count.")
@LABEL_RULE
@click.option("--per-entry", is_flag=True, help="Compare the ratings of pairs of a passage and a bank entry.")
@filter_options
@format_option()
@output_option()
@plot_option("weighted κ of every two graders")
def command(
    *,
    graded: Path,
    bank: Path | None,
    label_rule: str | None,
    per_entry: bool,
    plot: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """How several graders in one file agree with each other, and with the judgments.

    A grader is a model with a prompt class. Rows are pairs of graders with Cohen's κ, weighted κ and
    Krippendorff's α; a second table has α over all of them. Labels of passages are compared; for
    reviewers who rated some pairs (`exam-pp apply-edits`) compare the pairs, with --per-entry.
    """
    from exam_pp.metrics.passage_labels import LabelRule
    from exam_pp.phases.analysis.agreement import graders
    from exam_pp.reports.analysis.agreement import graders_figure, graders_report

    if label_rule is not None and per_entry:
        raise click.UsageError("--per-entry compares ratings, for which there is no --label-rule.")
    rule = None if label_rule is None else LabelRule.parse(label_rule)
    found = graders(
        graded, bank=bank, grade_filter=grade_filter(**criteria), labelling=rule, per_entry=per_entry
    )
    if plot is not None:
        emit_figure(graders_figure(found), plot, [graded, bank])
    emit_report(graders_report(found), form, output, [graded, bank])
