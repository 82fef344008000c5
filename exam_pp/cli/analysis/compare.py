"""``exam-pp analyze compare``: comparison of several leaderboards."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import OFFICIAL
from exam_pp.cli.options import FILE, emit_figure, emit_report, format_option, output_option, plot_option


@click.command("compare", cls=Command)
@click.argument("leaderboards", nargs=-1, required=True, type=FILE)
@click.option(
    "--official",
    type=FILE,
    help=f"{OFFICIAL} Orders the systems.",
)
@plot_option("a line for each leaderboard")
@format_option()
@output_option()
def command(
    *, leaderboards: tuple[Path, ...], official: Path | None, plot: Path | None, form: str, output: Path
) -> None:
    """Compare several leaderboards side by side, each scaled from 0 (worst system) to 1 (best).

    LEADERBOARDS are files of `exam-pp evaluate ... --format tsv` (or json), or tables with a header whose
    first column names the systems. The figure shows standard errors for files written with --per-query.

    Example:

    \b
      exam-pp analyze compare cover.tsv ndcg.tsv --official official.json
    """
    from exam_pp.phases.analysis.side_by_side import compare_leaderboards
    from exam_pp.reports.analysis.side_by_side import compared_picture, compared_report

    result = compare_leaderboards(leaderboards, official)
    inputs = [*leaderboards, official]
    if plot is not None:
        emit_figure([compared_picture(result)], plot, inputs)
    emit_report(compared_report(result, decimals=6 if form == "tsv" else 3), form, output, inputs)
