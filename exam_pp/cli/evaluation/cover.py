"""``exam-pp evaluate cover``: Rubric-Cover of the systems whose rankings a graded file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.leaderboard_options import (
    BANK,
    PLOT_LENGTH,
    QUERIES,
    LeaderboardOutput,
    leaderboard_options,
)
from exam_pp.cli.options import CUTOFF, GRADED, MIN_GRADE_DEFAULT, filter_options, grade_filter


@click.command("cover")
@GRADED
@BANK
@QUERIES
@click.option(
    "--min-grade",
    "min_grades",
    type=int,
    multiple=True,
    help=f"Grade from which an entry is covered; may be repeated.  {MIN_GRADE_DEFAULT}",
)
@CUTOFF
@click.option(
    "--missing-queries",
    type=click.Choice(["zero", "skip"]),
    default="zero",
    show_default=True,
    help="A query that a system returned nothing for scores 0, or is skipped as published.",
)
@click.option("--soft", is_flag=True, help="Highest probability of reaching the grade, instead of yes or no.")
@PLOT_LENGTH
@leaderboard_options("published")
@filter_options
def command(
    *,
    graded: Path,
    bank: Path | None,
    queries: Path | None,
    min_grades: tuple[int, ...],
    cutoff: int,
    missing_queries: Any,
    soft: bool,
    plot_length: Path | None,
    board: LeaderboardOutput,
    **criteria: Any,
) -> None:
    """Rubric-Cover: the share of the bank that each system's first ranks cover.

    Systems are those whose rankings GRADED holds. `_overall_` is what all graded passages together
    cover, the upper bound; nCover is the share of that.
    """
    from exam_pp.formats.scores import published_cover
    from exam_pp.phases.evaluation import rubric as evaluate

    if board.form == "published" and board.per_query:
        raise click.UsageError("--format published has no layout for --per-query.")
    evaluation = evaluate.cover(
        graded,
        bank=bank,
        grade_filter=grade_filter(**criteria),
        min_grade=min_grades,
        cutoff=cutoff,
        queries=queries,
        missing_queries=missing_queries,
        soft=soft,
    )
    inputs = [graded, bank, queries]
    board.draw_lengths(evaluation, graded, plot_length, inputs, cutoff=cutoff)
    if board.form == "published" and board.official is None:
        board.write_text(published_cover(evaluation.scores), evaluation, inputs)
    else:
        board.write(evaluation, "Rubric-Cover", inputs)
