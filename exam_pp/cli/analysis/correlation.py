"""``exam-pp analyze correlation``: how well two leaderboards agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.leaderboard_options import SAMPLES, SEED, TOP
from exam_pp.cli.options import FILE, emit, emit_report, format_option, output_option, plot_option


@click.command("correlation")
@click.argument("leaderboard", type=FILE)
@click.option(
    "--official",
    type=FILE,
    required=True,
    help="Official ranks (JSON or TSV), or another leaderboard of scores.",
)
@TOP
@click.option(
    "--intervals",
    type=click.Choice(["queries", "systems"]),
    help="95 % intervals, resampling queries (LEADERBOARD written with --per-query) or systems.",
)
@SAMPLES
@SEED
@click.option(
    "--per-query",
    is_flag=True,
    help="One row for every query too; both files were written with --per-query.",
)
@plot_option("the first measure against the official ranks")
@format_option("published")
@output_option()
def command(
    *,
    leaderboard: Path,
    official: Path,
    top: int,
    intervals: Any,
    samples: int,
    seed: int,
    per_query: bool,
    plot: Path | None,
    form: str,
    output: Path,
) -> None:
    """How well LEADERBOARD agrees with an official one: one row for every measure.

    LEADERBOARD is what `exam-pp evaluate ... --format tsv` (or json) wrote, or any table with a header
    whose first column names the systems. `--format published` has ρ and τ in the layout of the published
    tables, with --per-query a line for every query.
    """
    from exam_pp.phases.analysis.correlation import correlation, query_correlation

    if per_query and intervals is not None:
        raise click.UsageError("--per-query has no --intervals: a query is a single observation.")
    if form == "published" and intervals is not None:
        raise click.UsageError("--format published has no place for --intervals.")
    decimals = 6 if form == "tsv" else 3
    if per_query:
        report = query_correlation(leaderboard, official, top=top, decimals=decimals)
    else:
        report = correlation(
            leaderboard,
            official,
            top=top,
            decimals=decimals,
            intervals=intervals,
            samples=samples,
            seed=seed,
        )
    if plot is not None:
        from exam_pp.phases.analysis.correlation import boards
        from exam_pp.phases.analysis.figures import rank_figure, write_figure

        scores, ranks = boards(leaderboard, official)
        measure = next(iter(scores))
        write_figure(rank_figure(scores[measure], ranks, measure), plot, [leaderboard, official])
    if form == "published":
        from exam_pp.phases.analysis.official_ranks import published_analysis

        emit(published_analysis(report, leaderboard, official), output, [leaderboard, official])
    else:
        emit_report(report, form, output, [leaderboard, official])
