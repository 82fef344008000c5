"""Options of commands that make games from grades or scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command_line import refuse_without
from exam_pp.cli.leaderboard_options import missing_queries_option
from exam_pp.cli.options import MIN_GRADE, ONLY_QUERIES, ROLE, bank_option, together
from exam_pp.cli.ranges import IntRange, NumberRange
from exam_pp.store.files import allow_rereading

if TYPE_CHECKING:
    from exam_pp.grade_filter import GradeFilter
    from exam_pp.phases.tournaments.from_grades import RatedGames

GAMES_BY = (
    "Cover, nCover, SoftCover, MeanRating, or a nugget score such as V_strict; for a file of scores, one of "
    "its measures.  [default: Cover, or the only measure of the scores]"
)
"""The measures that decide games, for the help of the option."""

scored_options = together(
    bank_option("Test bank of the grades.", default="the entries that have grades"),
    click.option(
        "--tie-margin",
        type=NumberRange(min=0),
        default=0.0,
        show_default=True,
        help="Largest difference of two scores that is a tie.",
    ),
    MIN_GRADE,
    click.option(
        "--cutoff",
        type=IntRange(min=1),
        help="Depth to which the rankings are evaluated.  [default: 20; all ranks for nugget scores]",
    ),
    ROLE,
    missing_queries_option("results"),
    ONLY_QUERIES,
)
"""Options of games from scores; pass the received keyword arguments to :func:`scored_games`."""
SCORED = ("bank", "tie_margin", "min_grade", "cutoff", "role", "missing_queries", "queries")
"""Names of :data:`scored_options`."""
SELECTION = ("prompt_hash", "prompt_type", "question_set", "grade_choice")
"""Names of the options that select grades, in addition to graders and prompt classes."""


def scored_games(
    scored: Sequence[Path],
    criteria: GradeFilter,
    *,
    measure: str | None,
    measure_option: str,
    bank: Path | None,
    tie_margin: float,
    queries: Path | None,
    grader_name: str | None = None,
    **options: Any,
) -> RatedGames:
    """Games from a graded file, or from files of scores.

    ``measure``: Measure that decides the games; None for the default. ``grader_name``: Name of the grader to
    record; None for the default.
    """
    from exam_pp.phases.evaluation.judgments import is_passages
    from exam_pp.phases.tournaments.from_grades import GRADE_MEASURES, games_from_grades, games_from_scores

    allow_rereading(*scored)
    if not is_passages(scored[0]):
        refuse_without(
            "a graded file",
            "bank", "grader", "graders", "prompt_class", "prompt_classes", *SELECTION, *options,
        )  # fmt: skip
        return games_from_scores(
            scored, measure=measure, tie_margin=tie_margin, queries=queries, grader_name=grader_name
        )
    if len(scored) > 1:
        raise click.UsageError(f"{scored[0]} is a graded file, of which only one is possible.")
    if measure is not None and measure not in GRADE_MEASURES:
        raise click.UsageError(
            f"{measure_option} {measure!r} is not a measure of grades ({', '.join(GRADE_MEASURES)})."
        )
    return games_from_grades(
        scored[0],
        bank,
        measure=measure or "Cover",  # type: ignore[arg-type]  # one of GRADE_MEASURES
        tie_margin=tie_margin,
        grade_filter=criteria,
        queries=queries,
        grader_name=grader_name,
        **options,
    )
