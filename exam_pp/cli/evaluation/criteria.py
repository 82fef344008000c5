"""``exam-pp evaluate criteria``: leaderboard of the ratings of answers by criteria."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import LeaderboardOutput, leaderboard_options, missing_queries_option
from exam_pp.cli.options import GRADED, ONLY_QUERIES, support_filter_options

if TYPE_CHECKING:
    from exam_pp.phases.evaluation.result import MissingQueries


@click.command("criteria", cls=Command)
@GRADED
@ONLY_QUERIES
@support_filter_options
@missing_queries_option("answer")
@leaderboard_options()
def command(
    *,
    graded: Path,
    queries: Path | None,
    missing_queries: MissingQueries,
    output: LeaderboardOutput,
    **selection: Any,
) -> None:
    """Score systems by the ratings of their answers by criteria.

    The ratings are those of `exam-pp grade`. The columns are the mean of all criteria, and the mean
    rating by each criterion. Ungraded criteria count 0; the bounds show what they could change. If criteria
    have scales of different lengths, the mean of all is that of ratings divided by their highest level.

    Example:

    \b
      exam-pp evaluate criteria rated.jsonl.gz
    """
    from exam_pp.phases.evaluation.criteria import criteria
    from exam_pp.phases.evaluation.graded_citations import SupportFilter
    from exam_pp.phases.evaluation.inputs import query_ids

    evaluation = criteria(
        graded,
        selection=SupportFilter(model=selection.pop("grader"), **selection),
        queries=None if queries is None else query_ids(queries),
        missing_queries=missing_queries,
    )
    output.write(evaluation, "Criteria", [graded, queries])
