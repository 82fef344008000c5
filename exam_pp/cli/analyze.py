"""``exam-pp analyze``: compare leaderboards."""

from __future__ import annotations

import logging
from pathlib import Path

import click

from exam_pp.cli.options import emit, format_option, output_option

log = logging.getLogger(__name__)


@click.group("analyze")
def command() -> None:
    """Compare leaderboards."""


@command.command("correlation")
@click.argument("leaderboard", type=click.Path(path_type=Path, allow_dash=True))
@click.option(
    "--official",
    type=click.Path(path_type=Path),
    required=True,
    help="Official ranks (JSON or TSV), or another leaderboard of scores.",
)
@click.option(
    "--top", type=click.IntRange(min=1), default=5, show_default=True, help="k of the top-k overlap."
)
@format_option()
@output_option()
def correlation_command(leaderboard: Path, official: Path, top: int, form: str, output: Path) -> None:
    """How well LEADERBOARD agrees with an official one: one row for every measure.

    LEADERBOARD is what `exam-pp evaluate ... --format tsv` (or json) wrote, or any table with a header
    whose first column names the systems.
    """
    from exam_pp.phases.analyze import correlation
    from exam_pp.reports.document import Paragraph
    from exam_pp.reports.render import render

    report = correlation(leaderboard, official, top=top, decimals=6 if form == "tsv" else 3)
    if form == "tsv":
        for block in report.blocks:
            if isinstance(block, Paragraph):
                log.warning("%s", block.text)
    emit(render(report, form), output, [leaderboard, official])
