"""``exam-pp evaluate cover``: Rubric-Cover of the systems in a graded file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.leaderboard_options import (
    BANK,
    LeaderboardOutput,
    leaderboard_options,
    missing_queries_option,
)
from exam_pp.cli.options import (
    CANARIES,
    CUTOFF,
    GRADED,
    MIN_GRADE_DEFAULT,
    ONLY_QUERIES,
    ROLE,
    filter_columns,
    grade_filters,
)


@click.command("cover", cls=Command)
@GRADED
@BANK
@ONLY_QUERIES
@click.option(
    "--min-grade",
    "min_grades",
    type=int,
    multiple=True,
    help=f"Lowest grade that covers an entry; may be repeated.  {MIN_GRADE_DEFAULT}",
)
@CUTOFF
@ROLE
@CANARIES
@missing_queries_option("results")
@click.option(
    "--soft",
    is_flag=True,
    help="SoftCover: score an entry by its highest probability of a grade of at least --min-grade, instead "
    "of "
    "0 or 1.",
)
@leaderboard_options("published")
@filter_columns
def command(
    *,
    graded: Path,
    bank: Path | None,
    queries: Path | None,
    min_grades: tuple[int, ...],
    cutoff: int | None,
    role: Any,
    canaries: bool,
    missing_queries: Any,
    soft: bool,
    output: LeaderboardOutput,
    **criteria: Any,
) -> None:
    """Score systems by Rubric-Cover: the share of bank entries that their top passages cover.

    The command scores the systems that have rankings in GRADED. The system `_overall_` is the upper bound:
    the share of entries that any graded passage covers. nCover is Rubric-Cover divided by this upper bound.

    `--format trec_eval` writes scores like trec_eval, and `--format published` the leaderboard of the
    published implementation.

    Examples:

    \b
      exam-pp evaluate cover graded.jsonl.gz --bank questions.jsonl
      exam-pp evaluate cover graded.jsonl.gz --bank questions.jsonl \\
        --intervals queries --significance --format html -o cover.html
    """
    from exam_pp.phases.evaluation.cover import cover
    from exam_pp.phases.evaluation.inputs import loaded
    from exam_pp.phases.evaluation.result import grader_columns

    if output.form == "published" and output.per_query:
        raise click.UsageError("--format published does not support --per-query.")
    selections = grade_filters(**criteria)
    columns = len(selections) * max(1, len(set(min_grades)))
    if output.form == "published" and output.official is None and columns > 1:
        raise click.UsageError(
            "--format published has one leaderboard; use --grader, --prompt and --min-grade once, or "
            "add --official."
        )
    passages = loaded(graded)
    evaluations = {
        grader: cover(
            passages,
            bank=bank,
            grade_filter=selection,
            min_grade=min_grades,
            cutoff=cutoff,
            queries=queries,
            missing_queries=missing_queries,
            soft=soft,
            role=role,
            canaries=canaries,
        )
        for grader, selection in selections.items()
    }
    evaluation = grader_columns(evaluations)
    output.write(evaluation, "Rubric-Cover", [graded, bank, queries])
