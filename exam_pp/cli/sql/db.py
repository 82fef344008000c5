"""``exam-pp db``: a database of graded files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import FILE, OutputPath, log_summary
from exam_pp.cli.sql.sql_options import limit_options, source_options, take_limits, take_sources


@click.command("db", cls=Command)
@click.argument("files", nargs=-1, type=FILE)
@source_options
@click.option(
    "--format",
    "form",
    type=click.Choice(["duckdb", "parquet"]),
    default="duckdb",
    show_default=True,
    help="A DuckDB database, or a folder with a Parquet file for each table.",
)
@click.option(
    "-o",
    "--output",
    type=OutputPath(folders=True),
    required=True,
    help="Database file to write; with --format parquet a folder.",
)
@limit_options
def command(files: tuple[Path, ...], form: str, output: Path, **options: Any) -> None:
    """Build a database of graded files, games files, banks, runs and leaderboards.

    FILES are graded files and games files. The tables are those of `exam-pp query`, which can read the
    database in place of the files. Other programs read it as DuckDB or Parquet. Comments in the database
    describe the columns.

    Example:

    \b
      exam-pp db graded.jsonl.gz --bank questions.jsonl --runs runs -o graded.duckdb
    """
    from exam_pp.phases.sql.query import build_database, export_parquet

    sources, limits = take_sources(files, options), take_limits(options)
    if not sources.files():
        raise click.UsageError("db needs graded files, --bank, --runs, --scores or --queries.")
    if form == "duckdb":
        build_database(sources, output, limits)
        log_summary([f"Written: {output}"])
    else:
        log_summary(f"Written: {file}" for file in export_parquet(sources, output, limits))
