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
@click.option("--query", "named", multiple=True, help="Only this query; may be repeated.")
@QUERIES
@click.option(
    "--system",
    "systems",
    multiple=True,
    help="Only passages that this system returned, and its rankings; may be repeated.",
)
@click.option("--judged", is_flag=True, help="Only passages with a judgment.")
@click.option("--min-judgment", type=int, help="Only passages with a judgment of at least this.")
@click.option("--graded/--ungraded", default=None, help="Only passages with (without) a grade.")
@click.option("--min-grade", type=int, help="Only passages with a grade of at least this for some entry.")
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
    """Keep a part of PASSAGES: everything that is asked for must hold.

    --model, --prompt-class and their like keep these sets of grades alone, and are the grades that
    --graded and --min-grade look at; passages without them stay unless --graded says otherwise. Queries
    without a passage left are left out.
    """
    from exam_pp.phases.passages.filter import Wanted, filter_file
    from exam_pp.store.trec.queries import read_queries

    ids = None if queries is None and not named else {*named, *(read_queries(queries) if queries else ())}
    wanted = Wanted(
        queries=ids,
        systems=systems,
        grade_filter=grade_filter(**criteria),
        graded=graded,
        min_grade=min_grade,
        judged=judged,
        min_judgment=min_judgment,
    )
    if wanted == Wanted(grade_filter=wanted.grade_filter) and not any(
        criteria[name] for name in criteria if name != "grade_choice"
    ):
        raise click.UsageError("Say what to keep, such as --query, --system, --judged or --model.")
    inputs = [queries] if queries else []
    log_summary([filter_file(passages, output, wanted, named=named, inputs=inputs)])
