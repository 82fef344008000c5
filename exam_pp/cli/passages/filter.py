"""``exam-pp filter``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    ONLY_QUERIES,
    PASSAGES,
    filter_options,
    grade_filter,
    log_summary,
    output_option,
    role_option,
)


@click.command("filter", cls=Command)
@PASSAGES
@output_option("File to write.  [default: standard output]")
@click.option("--query", "named", multiple=True, metavar="ID", help="Only this query; may be repeated.")
@ONLY_QUERIES
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar="NAME",
    help="Only the rankings of this system and the passages that it returned; of a games file the games of "
    "this system, or between several; may be repeated.",
)
@role_option("both")
@click.option("--no-canaries", is_flag=True, help="Without the systems that `exam-pp canaries` added.")
@click.option("--judged", is_flag=True, help="Only passages with a judgment.")
@click.option("--min-judgment", type=int, help="Only passages with a judgment of at least this.")
@click.option("--graded/--ungraded", default=None, help="Only passages with grades, or without grades.")
@click.option("--min-grade", type=int, help="Only passages with a rating of at least this.")
@filter_options
def command(
    passages: Path,
    output: Path,
    named: tuple[str, ...],
    queries: Path | None,
    systems: tuple[str, ...],
    role: Any,
    no_canaries: bool,
    judged: bool,
    min_judgment: int | None,
    graded: bool | None,
    min_grade: int | None,
    **criteria: Any,
) -> None:
    """Keep only the queries, systems, passages and grades that match all options.

    --grader, --prompt-class and the other options for grades drop all other grades, but no passages.
    --graded, --ungraded and --min-grade then apply to the remaining grades. Queries without remaining
    passages are dropped.

    PASSAGES may also be a games file: --query, --queries, --system, --grader, --prompt-class and
    --grades hash select games.

    Examples:

    \b
      exam-pp filter graded.jsonl.gz --system bm25 --min-grade 4 -o covered.jsonl.gz
      exam-pp filter all.games.jsonl.gz --system bm25 --system gen-long -o two.games.jsonl.gz
    """
    from exam_pp.phases.passages import games
    from exam_pp.phases.passages.filter import FilterOptions, filter_file
    from exam_pp.store.games import is_games_file
    from exam_pp.store.trec.queries import read_queries

    ids = None if queries is None and not named else {*named, *(read_queries(queries) if queries else ())}
    options = FilterOptions(
        queries=ids,
        systems=systems,
        role=role,
        canaries=not no_canaries,
        grade_filter=grade_filter(**criteria),
        graded=graded,
        min_grade=min_grade,
        judged=judged,
        min_judgment=min_judgment,
    )
    if options == FilterOptions(grade_filter=options.grade_filter) and not any(
        criteria[name] for name in criteria if name != "grade_choice"
    ):
        raise click.UsageError(
            "Select what to keep, for example with --query, --system, --judged or --grader."
        )
    inputs = [queries] if queries else []
    rewrite = games.filter_games if is_games_file(passages) else filter_file
    log_summary([rewrite(passages, output, options, required_queries=named, inputs=inputs)])
