"""``exam-pp filter``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.leaderboard_options import QUERIES
from exam_pp.cli.options import PASSAGES, filter_options, grade_filter, log_summary, output_option


@click.command("filter")
@PASSAGES
@output_option()
@click.option("--query", "named", multiple=True, help="Keep only this query; may be repeated.")
@QUERIES
@click.option(
    "--system",
    "systems",
    multiple=True,
    help="Keep only the rankings of this system and the passages that it returned; may be repeated.",
)
@click.option("--judged", is_flag=True, help="Keep only passages with a judgment.")
@click.option("--min-judgment", type=int, help="Keep only passages with a judgment of at least this.")
@click.option("--graded/--ungraded", default=None, help="Keep only passages with (without) grades.")
@click.option("--min-grade", type=int, help="Keep only passages with a rating of at least this.")
@filter_options
def command(
    passages: Path,
    output: Path,
    named: tuple[str, ...],
    queries: Path | None,
    systems: tuple[str, ...],
    judged: bool,
    min_judgment: int | None,
    graded: bool | None,
    min_grade: int | None,
    **criteria: Any,
) -> None:
    """Keep the queries, systems, passages and grades that match all options.

    --model, --prompt-class and the other grade options keep only the matching grades, and --graded and
    --min-grade then look only at these. They keep passages without such grades; add --graded to drop
    them. A query is dropped if no passage of it is kept.

    Example:

    \b
      exam-pp filter graded.jsonl.gz --system bm25 --min-grade 4 -o covered.jsonl.gz
    """
    from exam_pp.phases.passages.filter import FilterOptions, filter_file
    from exam_pp.store.trec.queries import read_queries

    ids = None if queries is None and not named else {*named, *(read_queries(queries) if queries else ())}
    options = FilterOptions(
        queries=ids,
        systems=systems,
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
            "Select what to keep, for example with --query, --system, --judged or --model."
        )
    inputs = [queries] if queries else []
    log_summary([filter_file(passages, output, options, required_queries=named, inputs=inputs)])
