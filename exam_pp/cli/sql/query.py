"""``exam-pp query``: SQL over graded files."""

from __future__ import annotations

import logging
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import FILE, UncheckedPath, emit, output_option
from exam_pp.cli.sql.sql_options import limit_options, source_options, take_limits, take_sources

if TYPE_CHECKING:
    from exam_pp.phases.sql.query import Statement

log = logging.getLogger(__name__)


class _SqlCommand(Command):
    """A command whose SQL may start with a comment (`-- text`), which is not parsed as an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Treat two dashes before whitespace as the start of a comment."""
        return super().parse_args(ctx, [f" {arg}" if re.match(r"--\s", arg) else arg for arg in args])


@click.command("query", cls=_SqlCommand)
@click.argument("arguments", nargs=-1, metavar="FILE... SQL", type=UncheckedPath())
@source_options
@click.option("--sql-file", type=FILE, help="Read the SQL from this file; all arguments are then files.")
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
    show_default=True,
    help="Output format; parquet needs -o.",
)
@output_option()
@limit_options
@click.option("--unsafe-sql", is_flag=True, help="Allow SQL that reads or writes other files.")
@click.option(
    "--example",
    is_flag=False,
    flag_value="all",
    metavar="[NAME]",
    help="Print all example queries, or the example query NAME, and exit.",
)
def command(
    arguments: tuple[str, ...],
    sql_file: Path | None,
    params: tuple[str, ...],
    form: str,
    output: Path,
    unsafe_sql: bool,
    example: str | None,
    **options: Any,
) -> None:
    """Run a SQL query on graded files, games files, banks, runs and leaderboards.

    FILE is a graded file or a games file; it may also be a database made by `exam-pp db`. The SQL dialect is
    that of DuckDB. The tables are queries, passages, judgments, rankings, grades, ratings, answers, supports,
    criteria, games, bank, runs and scores. Only tables that the SQL names are filled. The SQL can only read
    these tables.

    Examples:

    \b
      exam-pp query graded.jsonl.gz "SELECT model, avg(rating) FROM ratings GROUP BY model"
      exam-pp query graded.jsonl.gz --bank questions.jsonl "$(exam-pp query --example bad-questions)"
    """
    if example is not None:
        if arguments or sql_file:
            raise click.UsageError(
                "--example prints a query and takes no files. To run it, use the printed query as SQL: "
                f'exam-pp query FILE "$(exam-pp query --example {example})".'
            )
        _print_example(example, output)
        return
    from exam_pp.phases.sql.query import Statement, query_files, query_to_parquet
    from exam_pp.rendering.rows import write_rows
    from exam_pp.store.files import check_output

    check_output(output, [sql_file] if sql_file else [])
    files, sql = _files_and_sql(arguments, sql_file)
    if form == "parquet" and str(output) == "-":
        raise click.UsageError("--format parquet needs an output file: -o FILE.")
    sources = take_sources(files, options)
    statement = Statement(sql, dict(map(_parameter, params)), unsafe_sql)
    limits = take_limits(options)
    if form == "text" and str(output) == "-" and sys.stdout.isatty():
        _draw(sources, statement, limits)
    elif form == "parquet":
        query_to_parquet(sources, statement, output, limits)
    else:
        query_files(sources, statement, output, partial(write_rows, form=form), limits)


def _print_example(name: str, output: Path) -> None:
    from exam_pp.phases.sql.query_examples import EXAMPLES, listing

    emit(listing() if name == "all" else EXAMPLES.get(name).sql, output)


def _files_and_sql(arguments: tuple[str, ...], sql_file: Path | None) -> tuple[list[Path], str]:
    if sql_file is not None:
        from exam_pp.store.files import read_text

        return [Path(argument) for argument in arguments], read_text(sql_file)
    if not arguments:
        raise click.UsageError("query needs files and a SQL statement. --example prints example queries.")
    *files, sql = arguments
    if len(sql.split()) == 1 and Path(sql).is_file():
        raise click.UsageError(f"The last argument must be a SQL statement, but {sql!r} is a file.")
    return [Path(file) for file in files], sql


def _parameter(text: str) -> tuple[str, str | int | float]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise click.UsageError(f"--param {text!r} must have the form NAME=VALUE.")
    if re.fullmatch(r"-?(0|[1-9]\d{0,17})", value):  # an id such as 007 is text
        return name, int(value)
    if re.fullmatch(r"-?\d+\.\d*", value):
        return name, float(value)
    return name, value


def _draw(sources: Any, statement: Statement, limits: Any) -> None:
    from exam_pp.phases.sql.query import query_result
    from exam_pp.rendering.terminal import MAX_ROWS, draw_rows

    with query_result(sources, statement, limits) as result:
        truncated = draw_rows(result.columns, result)
    if truncated:
        log.info("Only the first %d rows are shown; --format tsv prints all.", MAX_ROWS)
