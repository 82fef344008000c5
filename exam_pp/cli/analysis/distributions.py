"""``exam-pp analyze distributions``: box plots of scores over queries."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import confidence_option
from exam_pp.cli.options import FILE, emit_figure, emit_report, format_option, output_option, plot_option


@click.command("distributions", cls=Command)
@click.argument("scores", nargs=-1, required=True, type=FILE)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    metavar="NAME",
    help="Measure, by its name in SCORES; may be repeated.  [default: all]",
)
@confidence_option("Confidence level of the intervals of the means.")
@plot_option("a box plot of each measure")
@format_option()
@output_option()
def command(
    *,
    scores: tuple[Path, ...],
    measures: tuple[str, ...],
    confidence: float,
    plot: Path | None,
    form: str,
    output: Path,
) -> None:
    """Compare the scores of systems over queries: box plots, means, medians and intervals.

    SCORES are files with scores of single queries: those of `exam-pp evaluate ... --per-query`, JSON lines
    of scores, output of `trec_eval -q`, or results of Open RAG Eval (CSV). The formats html and --plot have
    pictures; the share of questions answered (Answered) is a bar. Systems NAME-run-1, NAME-run-2 ... are
    repeats of NAME: their scores are averaged, and adjusted(M) is mean/(1+sd) of the measure M over them.

    Examples:

    \b
      exam-pp analyze distributions ndcg.tsv --format html -o distributions.html
      exam-pp analyze distributions cover.tsv ndcg.tsv -m nDCG@10
    """
    from exam_pp.phases.analysis.distributions import score_distributions
    from exam_pp.reports.analysis.distributions import distribution_pictures, distributions_report

    result = score_distributions(scores, measures, confidence=confidence)
    if plot is not None:
        emit_figure(distribution_pictures(result), plot, scores)
    emit_report(distributions_report(result, decimals=6 if form == "tsv" else 3), form, output, scores)
