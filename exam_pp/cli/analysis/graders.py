"""``exam-pp analyze graders``: agreement of several graders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    GRADED,
    LABEL_RULE,
    bank_option,
    emit_figure,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
    plot_option,
)


@click.command("graders", cls=Command)
@GRADED
@bank_option("Test bank; only its entries count.", default="all graded entries")
@LABEL_RULE
@click.option(
    "--per-entry",
    is_flag=True,
    help="Compare the ratings of pairs of passage and entry instead of the labels of passages.",
)
@filter_options
@format_option()
@output_option()
@plot_option("the weighted κ of every two graders")
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
    """Measure the agreement of the graders of a file with each other and with the judgments.

    A grader is a model with a prompt class, or a reviewer. The command compares the labels of passages. It
    writes a table with Cohen's κ, weighted κ and Krippendorff's α for every two graders, and a table with α
    for all graders.

    Reviewers often rate only some pairs of passage and entry (`exam-pp apply-edits`). To include them, use
    --per-entry.

    Example:

    \b
      exam-pp analyze graders two-models.jsonl.gz --bank questions.jsonl
    """
    from exam_pp.metrics.passage_labels import LabelRule
    from exam_pp.phases.analysis.agreement import graders
    from exam_pp.reports.analysis.agreement import graders_figure, graders_report

    if label_rule is not None and per_entry:
        raise click.UsageError("--per-entry and --label-rule cannot be combined.")
    rule = None if label_rule is None else LabelRule.parse(label_rule)
    result = graders(
        graded, bank=bank, grade_filter=grade_filter(**criteria), labelling=rule, per_entry=per_entry
    )
    if plot is not None:
        emit_figure(graders_figure(result), plot, [graded, bank])
    emit_report(graders_report(result), form, output, [graded, bank])
