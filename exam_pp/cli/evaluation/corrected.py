"""``exam-pp evaluate corrected``: scores corrected by people's labels of a sample of pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import BANK, confidence_option
from exam_pp.cli.options import (
    FILE,
    GRADED,
    MIN_GRADE,
    ONLY_QUERIES,
    ROLE,
    SCRIPT_FORMATS,
    emit_report,
    filter_options,
    format_option,
    grade_filter,
    output_option,
)
from exam_pp.cli.ranges import IntRange


@click.command("corrected", cls=Command)
@GRADED
@BANK
@click.option(
    "--pairs", type=FILE, required=True, help="The drawn pairs with their probabilities (sample-pairs)."
)
@click.option(
    "--reviewer",
    required=True,
    metavar="NAME",
    help="Source of the labels: human:NAME, a model that stands for people, or judgments (of passages, for "
    "-m label-mean).",
)
@click.option(
    "-m",
    "--measure",
    type=click.Choice(["cover", "pair-share", "label-mean", "nuggets"]),
    default="cover",
    show_default=True,
    help="Rubric-Cover; the share of pairs of passage and entry with at least --min-grade; the mean direct "
    "grade, and the share with at least --min-grade; or the nugget scores V, W and A.",
)
@ONLY_QUERIES
@MIN_GRADE
@click.option(
    "--cutoff",
    type=IntRange(min=1),
    help="Depth to which the rankings are evaluated.  [default: that of the sample, or 20; for nuggets all "
    "ranks]",
)
@ROLE
@click.option(
    "--intervals",
    type=click.Choice(["queries", "labels"]),
    default="queries",
    show_default=True,
    help="Intervals contain the choice of the queries and the error of the judge (queries), or only the "
    "error of the judge on these queries (labels).",
)
@confidence_option()
@click.option(
    "--baseline", metavar="NAME", help="System to which others are compared.  [default: the best system]"
)
@format_option()
@output_option()
@filter_options
def command(
    *,
    graded: Path,
    bank: Path | None,
    pairs: Path,
    queries: Path | None,
    reviewer: str,
    measure: Any,
    min_grade: int | None,
    cutoff: int | None,
    role: Any,
    intervals: Any,
    confidence: float,
    baseline: str | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Estimate the scores that people would give, from the judge's grades and labels of a sample.

    The pairs were drawn by `exam-pp sample-pairs` and labelled by people. Where people differ from the
    judge, the score is corrected, in inverse proportion to the probability of the draw. GRADED has the
    grades of the judge, the labels of people and the rankings.

    The default for --grader and --prompt-class are the grades from which the pairs were drawn.

    Examples:

    \b
      exam-pp evaluate corrected labelled-pairs.jsonl.gz --bank questions.jsonl \\
        --pairs pairs.json --reviewer human:ana
      exam-pp evaluate corrected labelled-pairs.jsonl.gz --bank questions.jsonl \\
        --pairs pairs.json --reviewer human:ana --intervals labels --format html -o corrected.html
    """
    from exam_pp.phases.evaluation.corrected import corrected_scores
    from exam_pp.reports.evaluation.corrected import corrected_report

    result = corrected_scores(
        graded,
        pairs,
        bank,
        reviewer=reviewer,
        measure=measure,
        grade_filter=grade_filter(**criteria),
        min_grade=min_grade,
        cutoff=cutoff,
        queries=queries,
        role=role,
        intervals=intervals,
        confidence=confidence,
        baseline=baseline,
    )
    formatted = form not in SCRIPT_FORMATS
    report = corrected_report(result, formatted=formatted, decimals=3 if formatted else 6)
    emit_report(report, form, output, [graded, bank, pairs, queries])
