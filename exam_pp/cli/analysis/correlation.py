"""``exam-pp analyze correlation``: rank correlation of two leaderboards."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import OFFICIAL, SAMPLES, SEED, TOP
from exam_pp.cli.options import (
    FILE,
    emit,
    emit_figure,
    emit_report,
    format_option,
    output_option,
    plot_option,
)


@click.command("correlation", cls=Command)
@click.argument("leaderboard", type=FILE)
@click.option(
    "--official",
    type=FILE,
    required=True,
    help=OFFICIAL,
)
@TOP
@click.option(
    "--intervals",
    type=click.Choice(["queries", "systems"]),
    help="Add 95 % confidence intervals, from bootstrap samples of the queries (LEADERBOARD must be written "
    "with --per-query) or of the systems.",
)
@SAMPLES
@SEED
@click.option(
    "--per-query",
    is_flag=True,
    help="Correlate the scores of every query; both files must be written with --per-query.",
)
@plot_option("the first measure against the official ranks")
@format_option("published")
@output_option()
def command(
    *,
    leaderboard: Path,
    official: Path,
    top_systems: int,
    intervals: Any,
    samples: int,
    seed: int,
    per_query: bool,
    plot: Path | None,
    form: str,
    output: Path,
) -> None:
    """Correlate a leaderboard with an official leaderboard, measure by measure.

    LEADERBOARD is a file of `exam-pp evaluate ... --format tsv` (or json), or a table with a header whose
    first column names the systems. The coefficients are Spearman's ρ, Kendall's τ, τ-AP and the top-k
    overlap.

    `--format published` writes ρ and τ in the layout of the published tables, with --per-query a line for
    every query.

    Example:

    \b
      exam-pp analyze correlation cover.tsv --official official.json --intervals systems
    """
    from exam_pp.phases.analysis.correlation import (
        correlation,
        query_correlation,
        read_official,
        scores_by_measure,
    )
    from exam_pp.reports.analysis.correlation import (
        correlation_report,
        query_correlation_report,
        rank_picture,
    )
    from exam_pp.reports.analysis.legacy_tsv import published_correlations, published_query_correlations

    if intervals is None:
        refuse_without("--intervals", "samples", "seed")
    if per_query and intervals is not None:
        raise click.UsageError("--intervals is not available with --per-query.")
    if form == "published" and intervals is not None:
        raise click.UsageError("--intervals is not available with --format published.")
    decimals = 6 if form == "tsv" else 3
    if per_query:
        by_query = query_correlation(leaderboard, official, top=top_systems)
        report = query_correlation_report(by_query, decimals=decimals)
        published = published_query_correlations(by_query)
    else:
        result = correlation(
            leaderboard, official, top=top_systems, intervals=intervals, samples=samples, seed=seed
        )
        report = correlation_report(result, decimals=decimals)
        published = published_correlations(result)
    inputs = [leaderboard, official]
    if plot is not None:
        measure, scores = next(iter(scores_by_measure(leaderboard).items()))
        emit_figure([rank_picture(scores, read_official(official).ranks, measure)], plot, inputs)
    if form == "published":
        emit(published, output, inputs)
    else:
        emit_report(report, form, output, inputs)
