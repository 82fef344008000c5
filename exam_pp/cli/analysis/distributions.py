"""``exam-pp analyze distributions``: scores over queries, and paired tests between systems by criterion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import SEED, confidence_option
from exam_pp.cli.options import (
    FILE,
    emit_figure,
    emit_report,
    format_option,
    output_option,
    plot_option,
    support_filter_options,
)
from exam_pp.rendering.document import Picture


@click.command("distributions", cls=Command)
@click.argument("scores", metavar="SCORES...|GRADED", nargs=-1, required=True, type=FILE)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Measure, by its name in SCORES; may be repeated.  [default: all]",
)
@confidence_option(
    "Confidence level of the intervals; for GRADED, 1 minus it is also the level of significance."
)
@support_filter_options
@SEED
@plot_option("a box plot of each measure")
@format_option()
@output_option()
def command(
    *,
    scores: tuple[Path, ...],
    measures: tuple[str, ...],
    confidence: float,
    seed: int,
    plot: Path | None,
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Compare the scores of systems over queries: box plots, means, medians, intervals and tests.

    SCORES are files with scores of single queries: those of `exam-pp evaluate ... --per-query`, JSON lines
    of scores, output of `trec_eval -q`, or results of Open RAG Eval (CSV). The formats html and --plot have
    pictures; the share of questions answered (Answered) is a bar. Systems NAME-run-1, NAME-run-2 ... are
    repeats of NAME: their scores are averaged, and adjusted(M) is mean/(1+sd) of the measure M over them.

    GRADED has ratings of answers by criteria, by one model or person (--grader). Every two of the systems are
    compared by each criterion on the queries that both have ratings for: with the paired randomisation test
    and the paired t test, both two-sided. Holm's method adjusts the p-values over all rows, so name only the
    systems in question (--system).

    Examples:

    \b
      exam-pp analyze distributions ndcg.tsv --format html -o distributions.html
      exam-pp analyze distributions cover.tsv ndcg.tsv -m nDCG@10
      exam-pp analyze distributions rated-answers.jsonl --grader human:ann \\
        --system gen-long --system gen-short
    """
    from exam_pp.phases.evaluation.judgments import is_passages

    if len(scores) == 1 and is_passages(scores[0]):
        refuse_without("files of scores", "measures", "plot")
        _paired_tests(*scores, confidence=confidence, seed=seed, form=form, output=output, **criteria)
        return
    refuse_without("a graded file", "seed", *criteria)

    from exam_pp.reports.analysis.distributions import distributions_report

    report = distributions_report(scores, measures, confidence=confidence, decimals=6 if form == "tsv" else 3)
    if plot is not None:
        emit_figure([block for block in report.blocks if isinstance(block, Picture)], plot, scores)
    emit_report(report, form, output, scores)


def _paired_tests(
    graded: Path,
    *,
    grader: str | None,
    prompt_class: str | None,
    prompt_hash: str | None,
    systems: tuple[str, ...],
    confidence: float,
    seed: int,
    form: str,
    output: Path,
) -> None:
    """The tests of every two systems by criterion."""
    from exam_pp.phases.evaluation.citations import AnswerFilter
    from exam_pp.reports.analysis.paired_criteria import paired_criteria

    selection = AnswerFilter(grader, prompt_class, prompt_hash, systems)
    report = paired_criteria(graded, selection=selection, confidence=confidence, seed=seed)
    emit_report(report, form, output, [graded])
