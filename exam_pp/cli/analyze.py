"""``exam-pp analyze``: compare leaderboards."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.options import emit, format_option, output_option

if TYPE_CHECKING:
    from exam_pp.reports.document import Report

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
@click.option(
    "--intervals",
    type=click.Choice(["queries", "systems"]),
    help="95 % intervals, resampling queries (LEADERBOARD written with --per-query) or systems.",
)
@click.option(
    "--samples", type=click.IntRange(min=100), default=2000, show_default=True, help="Bootstrap samples."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the samples.")
@click.option(
    "--per-query",
    is_flag=True,
    help="One row for every query too; both files were written with --per-query.",
)
@format_option()
@output_option()
def correlation_command(
    *,
    leaderboard: Path,
    official: Path,
    top: int,
    intervals: Any,
    samples: int,
    seed: int,
    per_query: bool,
    form: str,
    output: Path,
) -> None:
    """How well LEADERBOARD agrees with an official one: one row for every measure.

    LEADERBOARD is what `exam-pp evaluate ... --format tsv` (or json) wrote, or any table with a header
    whose first column names the systems.
    """
    from exam_pp.phases.analyze import correlation, query_correlation

    if per_query and intervals is not None:
        raise click.UsageError("--per-query has no --intervals: a query is a single observation.")
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
    _emit(report, form, output, [leaderboard, official])


def _emit(report: Report, form: str, output: Path, inputs: list[Path | None]) -> None:
    """Write a report; notes that the format has no room for go to standard error."""
    from exam_pp.reports.document import Paragraph
    from exam_pp.reports.render import render

    if form == "tsv":
        for block in report.blocks:
            if isinstance(block, Paragraph):
                log.warning("%s", block.text)
    emit(render(report, form), output, inputs)
