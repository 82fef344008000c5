"""``exam-pp analyze paired``: paired tests between systems by criterion."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import SEED, confidence_option
from exam_pp.cli.options import GRADED, emit_report, format_option, output_option, support_filter_options


@click.command("paired", cls=Command)
@GRADED
@support_filter_options
@confidence_option("Confidence level of the intervals; 1 minus it is the level of significance.")
@SEED
@format_option()
@output_option()
def command(
    *,
    graded: Path,
    grader: str | None,
    prompt_class: str | None,
    prompt_hash: str | None,
    systems: tuple[str, ...],
    confidence: float,
    seed: int,
    form: str,
    output: Path,
) -> None:
    """Test for each criterion whether two systems differ in the ratings of their answers.

    GRADED has ratings of answers by criteria, by one model or person (--grader). Every two of the systems are
    compared on the queries that both have ratings for: with the paired randomisation test and the paired t
    test, both two-sided. Holm's method adjusts the p-values over all rows, so name only the systems in
    question (--system).

    Example:

    \b
      exam-pp analyze paired rated-answers.jsonl --grader human:ann --system gen-long --system gen-short
    """
    from exam_pp.phases.analysis.paired_criteria import paired_criteria
    from exam_pp.phases.evaluation.graded_citations import SupportFilter
    from exam_pp.reports.analysis.paired_criteria import paired_criteria_report

    selection = SupportFilter(grader, prompt_class, prompt_hash, systems)
    result = paired_criteria(graded, selection=selection, confidence=confidence, seed=seed)
    emit_report(paired_criteria_report(result), form, output, [graded])
