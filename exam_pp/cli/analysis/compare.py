"""``exam-pp analyze compare``: several leaderboards side by side."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.options import FILE, emit_figure, emit_report, format_option, output_option, plot_option


@click.command("compare")
@click.argument("leaderboards", nargs=-1, required=True, type=FILE)
@click.option(
    "--official",
    type=FILE,
    help="Official ranks (JSON or TSV), or a leaderboard of scores: the order.",
)
@plot_option("a line for each board")
@format_option()
@output_option()
def command(
    *, leaderboards: tuple[Path, ...], official: Path | None, plot: Path | None, form: str, output: Path
) -> None:
    """Several LEADERBOARDS side by side, each scaled from 0 (worst system) to 1 (best).

    LEADERBOARDS are what `exam-pp evaluate ... --format tsv` (or json) wrote, with --per-query to have
    standard errors in the figure, or any tables with a header whose first column names the systems.
    """
    from exam_pp.phases.analysis.side_by_side import compare_leaderboards
    from exam_pp.reports.analysis.side_by_side import compared_figure, compared_report

    found = compare_leaderboards(leaderboards, official)
    inputs = [*leaderboards, official]
    if plot is not None:
        emit_figure(compared_figure(found.leaderboards, found.order, found.standard_errors), plot, inputs)
    emit_report(compared_report(found, decimals=6 if form == "tsv" else 3), form, output, inputs)
