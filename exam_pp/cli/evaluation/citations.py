"""``exam-pp evaluate citations``: leaderboard of the citations of answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import LeaderboardOutput, leaderboard_options, missing_queries_option
from exam_pp.cli.options import GRADED, ONLY_QUERIES, support_filter_options

if TYPE_CHECKING:
    from exam_pp.metrics.citations import CitationRule
    from exam_pp.phases.evaluation.result import MissingQueries


@click.command("citations", cls=Command)
@GRADED
@ONLY_QUERIES
@support_filter_options
@click.option(
    "--citations",
    "rule",
    type=click.Choice(["all", "first"]),
    default="all",
    show_default=True,
    help="Citations of a part that count: all, or the first one, as in the TREC RAG track.",
)
@missing_queries_option("answer")
@leaderboard_options()
def command(
    *,
    graded: Path,
    queries: Path | None,
    rule: CitationRule,
    missing_queries: MissingQueries,
    output: LeaderboardOutput,
    **selection: Any,
) -> None:
    """Score systems by whether the passages that their answers cite support them.

    The grades are those of `exam-pp grade --prompt-class CitationSupport`: full support is 1, partial support
    .5, no support 0. Precision is the mean over the cited passages of an answer, recall the mean over its
    parts. A part without citations, and a citation of a passage that is not in the file, count 0. Ungraded
    citations count 0; the bounds show what they could change.

    Example:

    \b
      exam-pp evaluate citations citations.jsonl.gz
    """
    from exam_pp.phases.evaluation.citations import citations
    from exam_pp.phases.evaluation.graded_citations import SupportFilter
    from exam_pp.phases.evaluation.inputs import query_ids

    evaluation = citations(
        graded,
        selection=SupportFilter(model=selection.pop("grader"), **selection),
        rule=rule,
        queries=None if queries is None else query_ids(queries),
        missing_queries=missing_queries,
    )
    output.write(evaluation, "Citations", [graded, queries])
