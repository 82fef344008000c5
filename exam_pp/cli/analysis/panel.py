"""``exam-pp analyze panel``: agreement and leaderboards of the graders of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import SEED, confidence_option
from exam_pp.cli.options import (
    CUTOFF,
    GRADED,
    MIN_GRADE,
    ROLE,
    bank_option,
    emit_report,
    format_option,
    grade_filter,
    output_option,
    panel_members,
)


@click.command("panel", cls=Command)
@GRADED
@bank_option("Test bank; only its entries count.", default="all graded entries")
@panel_members
@MIN_GRADE
@CUTOFF
@click.option(
    "-m",
    "--measure",
    metavar="NAME",
    help="Score the rankings by this measure, with the best rating of a passage as its label, such as "
    "nDCG@10.  [default: Rubric-Cover]",
)
@ROLE
@confidence_option()
@SEED
@format_option()
@output_option()
def command(
    *,
    graded: Path,
    bank: Path | None,
    graders: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    rule: Any,
    min_graders: int,
    min_grade: int | None,
    cutoff: int | None,
    measure: str | None,
    role: Any,
    confidence: float,
    seed: int,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Show how far the leaderboard depends on the grader: agreement, leaderboards, places of systems.

    A grader is a model with a prompt, or a reviewer. The report has the agreement of the graders on
    pairs of passage and entry, the leaderboard of every grader and of their consensus, and the consensus
    without each grader. The command computes the consensus itself; a consensus in GRADED
    (`exam-pp consensus`) counts as a grader only if --grader names it.

    Examples:

    \b
      exam-pp analyze panel two-models.jsonl.gz --bank questions.jsonl
      exam-pp analyze panel two-models.jsonl.gz --bank questions.jsonl --measure nDCG@10 --rule mean
    """
    from exam_pp.phases.analysis.panel import analyze_panel
    from exam_pp.reports.analysis.agreement import panel_report

    result = analyze_panel(
        graded, bank,
        rule=rule, min_graders=min_graders, grade_filter=grade_filter(None, None, **criteria),
        graders=graders, prompt_classes=prompt_classes, min_grade=min_grade, cutoff=cutoff, measure=measure,
        role=role, confidence=confidence, seed=seed,
    )  # fmt: skip
    report = panel_report(result, decimals=6 if form == "tsv" else 3)
    emit_report(report, form, output, [graded, bank])
