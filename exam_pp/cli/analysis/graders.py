"""``exam-pp analyze graders``: agreement of several graders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import SAMPLES, SEED
from exam_pp.cli.options import (
    FIGURE_PATH,
    GRADED,
    LABEL_RULE,
    bank_option,
    compared_graders,
    emit_figure,
    emit_report,
    format_option,
    grade_filter,
    log_notes,
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
@click.option(
    "--per-criterion",
    is_flag=True,
    help="Compare the ratings of answers by criteria instead of the labels of passages.",
)
@compared_graders
@SAMPLES
@SEED
@format_option()
@output_option()
@plot_option("the weighted κ of every two graders")
@click.option(
    "--plot differences",
    "plot_differences",
    type=FIGURE_PATH,
    help="Also draw the differences of two graders against their means, with bias and limits of agreement "
    "(.svg).",
)
def command(
    *,
    graded: Path,
    bank: Path | None,
    label_rule: str | None,
    per_entry: bool,
    per_criterion: bool,
    graders: tuple[str, ...],
    samples: int,
    seed: int,
    plot: Path | None,
    plot_differences: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Measure the agreement of the graders of a file with each other and with the judgments.

    A grader is a model with a prompt class, or a reviewer. The command compares the labels of passages. It
    writes tables for every two graders: Cohen's κ, weighted κ and Krippendorff's α; Kendall's τ-b and
    Spearman's ρ with p-values and intervals; bias and limits of agreement (Bland and Altman). A further table
    has α of all graders.

    Reviewers often rate only some pairs of passage and entry (`exam-pp apply`). To include them, use
    --per-entry. Ratings of whole answers by criteria, by models and people, are compared by --per-criterion.

    Examples:

    \b
      exam-pp analyze graders two-models.jsonl.gz --bank questions.jsonl
      exam-pp analyze graders two-models.jsonl.gz --per-entry --plot differences=differences.svg
    """
    from exam_pp.metrics.passage_labels import LabelRule
    from exam_pp.phases.analysis.graders import criteria_graders
    from exam_pp.phases.analysis.graders import graders as compare
    from exam_pp.phases.evaluation.graded_citations import SupportFilter
    from exam_pp.reports.analysis.graders import difference_pictures, graders_report, kappa_picture

    if label_rule is not None and per_entry:
        raise click.UsageError("--per-entry and --label-rule cannot be combined.")
    if per_criterion:
        context = click.get_current_context()
        for name in ("bank", "label_rule", "per_entry", "prompt_type", "question_set", "grade_choice"):
            if context.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT:
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"--per-criterion and {option} cannot be combined.")
        selection = SupportFilter(prompt_class=criteria["prompt_class"], prompt_hash=criteria["prompt_hash"])
        result = criteria_graders(graded, selection=selection, models=graders, samples=samples, seed=seed)
    else:
        rule = None if label_rule is None else LabelRule.parse(label_rule)
        result = compare(
            graded, bank=bank, grade_filter=grade_filter(None, **criteria), models=graders, labelling=rule,
            per_entry=per_entry, samples=samples, seed=seed,
        )  # fmt: skip
    if plot is not None:
        emit_figure([kappa_picture(result)], plot, [graded, bank])
    if plot_differences is not None:
        drawn = difference_pictures(result)
        if drawn:
            emit_figure(drawn, plot_differences, [graded, bank])
        else:
            log_notes([f"{plot_differences} is not written: the graders have no common items."])
    emit_report(graders_report(result), form, output, [graded, bank])
