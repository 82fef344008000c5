"""``exam-pp query``: SQL over graded files, and databases of them."""

from __future__ import annotations

import logging
import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.command_line import refuse
from exam_pp.cli.options import (
    FILE,
    FILES,
    FORMAT_DEFAULT,
    METHOD_NAME,
    QUERIES_FILE,
    QUERY_FORMATS,
    OutputPath,
    UncheckedPath,
    log_summary,
    output_option,
)
from exam_pp.cli.output_format import of_ending
from exam_pp.cli.ranges import IntRange
from exam_pp.store.files import check_output, read_text

if TYPE_CHECKING:
    from exam_pp.plugins.sql.duck import Limits

log = logging.getLogger(__name__)


class _SqlCommand(Command):
    """A command whose SQL may start with a comment (`-- text`), which is not parsed as an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Treat two dashes before whitespace as the start of a comment."""
        return super().parse_args(ctx, [f" {arg}" if re.match(r"--\s", arg) else arg for arg in args])


@click.command("query", cls=_SqlCommand)
@click.argument("arguments", nargs=-1, metavar="FILE... [SQL]", type=UncheckedPath())
@click.option(
    "--bank", "banks", multiple=True, type=FILE, help="Test bank, for the table bank; may be repeated."
)
@click.option(
    "--runs",
    multiple=True,
    type=FILES,
    help="Run file, or folder of run files, for the table runs; may be repeated.",
)
@click.option(
    "--scores",
    multiple=True,
    type=FILE,
    help="Leaderboard or other file of scores, for the table scores; may be repeated.",
)
@click.option(
    "--queries",
    multiple=True,
    type=QUERIES_FILE,
    help=f"Texts of the queries, for the table queries ({QUERY_FORMATS}); may be repeated.",
)
@METHOD_NAME
@click.option(
    "--param",
    "params",
    multiple=True,
    metavar="NAME=VALUE",
    help="Value of the parameter $NAME of the SQL; may be repeated.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "tsv", "json", "jsonl", "md", "csv", "parquet"]),
    default="text",
    callback=of_ending,
    help=f"Output format; parquet is for --save.  {FORMAT_DEFAULT}",
)
@output_option()
@click.option(
    "--save",
    type=OutputPath(folders=True),
    metavar="FILE",
    help="Write all tables to a DuckDB database instead of running SQL; with --format parquet, to a folder "
    "with a Parquet file for each table.",
)
@click.option(
    "-S memory-limit",
    "memory_limit",
    default="512MB",
    show_default=True,
    metavar="SIZE",
    help="Memory of DuckDB, such as 4GB; beyond it, DuckDB writes temporary files (see TMPDIR).",
)
@click.option("--threads", type=IntRange(min=1), help="Number of threads of DuckDB.  [default: all cores]")
def command(
    arguments: tuple[str, ...],
    params: tuple[str, ...],
    form: str,
    output: Path,
    save: Path | None,
    **options: Any,
) -> None:
    """Run a SQL query on graded files, games files, banks, runs and leaderboards.

    FILE is a graded file or a games file; it may also be a database that --save wrote. SQL is a statement, or
    a file with one, whose name ends with .sql; `exam-pp list sql` has examples. The SQL dialect is that of
    DuckDB. The tables are queries, passages, judgments, rankings, grades, ratings, answers, supports,
    criteria, games, bank, runs and scores. Only tables that the SQL names are filled. The SQL can only read
    these tables. Other programs read a database of --save as DuckDB or Parquet.

    Examples:

    \b
      exam-pp query graded.jsonl.gz "SELECT model, avg(rating) FROM ratings GROUP BY model"
      exam-pp query graded.jsonl.gz --bank questions.jsonl "$(exam-pp show sql bad-questions)"
      exam-pp query graded.jsonl.gz --bank questions.jsonl --runs runs --save graded.duckdb
    """
    from exam_pp.plugins.sql.duck import Limits
    from exam_pp.plugins.sql.query import SqlSources, query_files, query_result
    from exam_pp.rendering.rows import MAX_ROWS, draw_rows, write_rows

    limits = Limits(options.pop("memory_limit"), options.pop("threads"))
    if save is not None:
        _save(arguments, form, save, limits, options)
        return
    check_output(output)
    files, sql = _files_and_sql(arguments)
    parameters = dict(map(_parameter, params))
    if form == "parquet":
        raise click.UsageError("--format parquet is for the tables of --save.")
    sources = SqlSources(files, **options)
    if form == "text" and str(output) == "-" and sys.stdout.isatty():
        with query_result(sources, sql, parameters, limits) as result:
            truncated = draw_rows(result.columns, result)
        if truncated:
            log.info("Only the first %d rows are shown; --format tsv prints all.", MAX_ROWS)
    else:
        query_files(sources, sql, parameters, output, partial(write_rows, form=form), limits)


def _save(arguments: tuple[str, ...], form: str, save: Path, limits: Limits, options: dict[str, Any]) -> None:
    """Write all tables to a database, or to a folder of Parquet files."""
    from exam_pp.plugins.sql.query import SqlSources, build_database, export_parquet

    of_statements = ("params", "output")
    refuse(click.get_current_context(), of_statements.__contains__, "has no effect with --save")
    if form not in ("text", "parquet"):
        raise click.UsageError("--save writes a database, or with --format parquet Parquet files.")
    if arguments and " " in arguments[-1] and not _is_file(arguments[-1]):
        raise click.UsageError("--save writes all tables and takes no SQL. Run the SQL on the database.")
    sources = SqlSources([Path(argument) for argument in arguments], **options)
    if not sources.files():
        raise click.UsageError("--save needs graded files, --bank, --runs, --scores or --queries.")
    if form == "parquet":
        log_summary(f"Written: {file}" for file in export_parquet(sources, save, limits))
    else:
        check_output(save, sources.files(), option="--save")
        build_database(sources, save, limits)
        log_summary([f"Written: {save}"])


def _files_and_sql(arguments: tuple[str, ...]) -> tuple[list[Path], str]:
    if not arguments:
        raise click.UsageError("query needs files and a SQL statement. `exam-pp list sql` has examples.")
    *files, sql = arguments
    if _is_file(sql):
        if not sql.endswith(".sql"):
            raise click.UsageError(f"The last argument must be a SQL statement, but {sql!r} is a file.")
        sql = read_text(sql)
    return [Path(file) for file in files], sql


def _is_file(argument: str) -> bool:
    """Whether an argument is the name of a file, not a statement."""
    is_name = argument == "-" or re.fullmatch(r"\S+\.sql", argument) is not None
    return is_name or os.path.exists(argument)  # noqa: PTH110 - SQL can be too long for a path


def _parameter(text: str) -> tuple[str, str | int | float]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise click.UsageError(f"--param {text!r} must have the form NAME=VALUE.")
    if re.fullmatch(r"-?(0|[1-9]\d{0,17})", value):  # an id such as 007 is text
        return name, int(value)
    if re.fullmatch(r"-?\d+\.\d*", value):
        return name, float(value)
    return name, value
