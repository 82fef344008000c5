"""SQL on graded files, games files, banks, runs and leaderboards, and DuckDB databases of them."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from exam_pp.errors import DataError, OutputError, SelectionError
from exam_pp.plugins.sql.duck import (
    Filler,
    Limits,
    Reader,
    Result,
    export_tables,
    is_database,
    new_database,
    open_database,
    tables_of,
)
from exam_pp.plugins.sql.rows import GradedRows, shown_path
from exam_pp.plugins.sql.tables import OF_GRADED_FILES, TABLES, SqlValue, TableName
from exam_pp.store.files import STDIO, atomic_output, check_output, folder_output, work_folder
from exam_pp.store.locks import temporary_folder

if TYPE_CHECKING:
    from exam_pp.store.trec.runs import MethodName

log = logging.getLogger(__name__)

DEDUPLICATED_TABLES: frozenset[TableName] = frozenset({"passages", "judgments", "rankings"})
"""Tables in which duplicate rows of a file are merged into one row."""


@dataclass(frozen=True)
class SqlSources:
    """The input files of SQL.

    ``graded`` are graded files and games files, ``runs`` run files or folders of run files, ``scores``
    leaderboards, ``queries`` files of query texts.
    Instead of all these, ``graded`` may be a single database that :func:`build_database` made.
    """

    graded: Sequence[Path] = ()
    banks: Sequence[Path] = ()
    runs: Sequence[Path] = ()
    scores: Sequence[Path] = ()
    queries: Sequence[Path] = ()
    method_name: MethodName = "stem"

    def check(self) -> None:
        """Raise :class:`DataError` for a missing file, even if the SQL does not need it.

        Raises :class:`SelectionError` for a graded file that is named twice, whose rows would count twice.
        """
        for path in self.files():
            if str(path) != STDIO and not path.exists():
                raise DataError("cannot be read (No such file or directory).", file=str(path))
        seen: set[Path] = set()
        for path in self.graded:
            if path.resolve() in seen:
                raise SelectionError(f"{path} is named twice. Name it only once, or its rows count twice.")
            seen.add(path.resolve())

    def files(self) -> list[Path]:
        """Return all inputs; folders of runs are not expanded."""
        return [*self.graded, *self.banks, *self.runs, *self.scores, *self.queries]

    @property
    def database(self) -> Path | None:
        """The database if the input is a database, else None.

        Raises :class:`SelectionError` if there are further inputs.
        """
        databases = [path for path in self.graded if is_database(path)]
        if databases and len(self.files()) > 1:
            raise SelectionError(f"{databases[0]} is a database, which cannot be combined with other inputs.")
        return databases[0] if databases else None


RowWriter = Callable[[Sequence[str], Iterable[Sequence[Any]], IO[bytes]], None]
"""Writes columns and an iterable of rows to a stream."""


def query_files(
    sources: SqlSources,
    sql: str,
    parameters: Mapping[str, SqlValue],
    output: str | Path,
    write: RowWriter,
    limits: Limits,
) -> None:
    """Run a statement with its parameters ``$name`` on the sources and write its rows.

    Only the tables that the statement names are filled. Raises :class:`~exam_pp.errors.QueryError` for SQL
    that cannot be run, and the errors of reading the sources.
    """
    check_output(output, sources.files())
    with (
        query_result(sources, sql, parameters, limits) as result,
        atomic_output(output, inputs=sources.files()) as stream,
    ):
        write(result.columns, result, stream)


@contextmanager
def query_result(
    sources: SqlSources, sql: str, parameters: Mapping[str, SqlValue], limits: Limits
) -> Iterator[Result]:
    """Open the rows of a statement, for Python and for terminals; errors as in :func:`query_files`."""
    sources.check()
    database, tables = sources.database, tables_of(sql)
    with temporary_folder() as folder:
        path = database or folder / "query.duckdb"
        if database is None:
            with new_database(path, limits) as filler:
                fill(filler, sources, tables)
        with open_database(path, limits) as reader:
            if database is None:
                _warn_of_empty_tables(reader, tables)
            yield reader.run(sql, parameters)


def _warn_of_empty_tables(reader: Reader, tables: Collection[TableName]) -> None:
    options: Mapping[TableName, str] = {"bank": "--bank", "runs": "--runs", "scores": "--scores"}
    for table in TABLES:
        if table in tables and reader.is_empty(table):
            hint = f" Name a file with {options[table]}." if table in options else ""
            log.warning("The table %s has no rows.%s", table, hint)


def fill(filler: Filler, sources: SqlSources, tables: Collection[TableName]) -> None:
    """Fill the tables with the rows of the sources, each of which is read only once."""
    queries: dict[str, tuple[str | None, str | None]] = {}
    if "queries" in tables and sources.queries:
        from exam_pp.store.trec.queries import read_queries

        for path in sources.queries:
            for key, query in read_queries(path).items():
                queries[key] = (query.query_text, None)
    if {"bank", "queries"} & set(tables):
        for path in sources.banks:
            _fill_bank(filler, path, tables, queries)
    if {"queries", *OF_GRADED_FILES} & set(tables):
        rows = GradedRows(tables, filler.add, filler.expect)
        for path in sources.graded:
            rows.read(path)
        for file, query_id in sorted(rows.repeated):
            for table in DEDUPLICATED_TABLES & set(tables):
                filler.keep_first(table, file, query_id)
        for key, text in rows.queries.items():
            known, collection = queries.get(key, (None, None))
            queries[key] = (known or text, collection)
    if "runs" in tables and sources.runs:
        from exam_pp.store.trec.runs import (
            read_run,
            run_files,
            warn_of_skipped_files,
        )

        for path in sources.runs:
            warn_of_skipped_files(path)
        for run in (run for path in sources.runs for run in run_files(path)):
            for line in read_run(run, method=sources.method_name):
                row = (shown_path(run), line.system, line.query_id, line.passage_id, line.rank, line.score)
                filler.add("runs", row)
    if "scores" in tables and sources.scores:
        from exam_pp.formats.scores import read_all_scores

        for path in sources.scores:
            for score in read_all_scores(path):
                filler.add("scores", (shown_path(path), *score))
    if "queries" in tables:
        for key, (text, collection) in queries.items():
            filler.add("queries", (key, text, collection))


def _fill_bank(
    filler: Filler,
    path: Path,
    tables: Collection[TableName],
    queries: dict[str, tuple[str | None, str | None]],
) -> None:
    from exam_pp.store.banks.bank_json import read_bank

    seen: set[tuple[str, str]] = set()
    for line in read_bank(path).lines:
        text, collection = queries.get(line.query_id, (None, None))
        queries[line.query_id] = (text or line.title or None, collection or line.test_collection or None)
        if "bank" not in tables:
            continue
        for item in line.items:
            if (line.query_id, item.entry_id) in seen:
                continue
            seen.add((line.query_id, item.entry_id))
            filler.add(
                "bank",
                (
                    shown_path(path),
                    line.query_id,
                    item.entry_id,
                    item.kind,
                    item.text,
                    item.facet_id or line.facet_id,
                    line.facet_text,
                    item.importance,
                    item.weight,
                    item.gold_answers,
                ),
            )


def build_database(sources: SqlSources, output: Path, limits: Limits) -> None:
    """Write all tables to a DuckDB database, whose comments describe tables and columns."""
    check_output(output, sources.files())
    with (
        _built_database(sources, output.resolve(), limits) as path,
        atomic_output(output, inputs=sources.files()) as stream,
        path.open("rb") as database,
    ):
        shutil.copyfileobj(database, stream)


def export_parquet(sources: SqlSources, folder: Path, limits: Limits) -> list[Path]:
    """Write a Parquet file for each table with rows; the folder is created if it does not exist."""
    with (
        folder_output(folder, sources.files()) as work,
        _built_database(sources, work / "tables", limits) as path,
    ):
        return [folder / written.name for written in export_tables(path, work, limits)]


@contextmanager
def _built_database(sources: SqlSources, output: Path, limits: Limits) -> Iterator[Path]:
    """Build a database in a folder next to the output, because the temporary folder may be too small."""
    sources.check()
    if sources.database is not None:
        raise SelectionError(f"{sources.database} is already a database.")
    try:
        with work_folder(output) as folder:
            path = folder / "tables.duckdb"
            with new_database(path, limits, described=True) as filler:
                fill(filler, sources, TABLES.keys())
            yield path
    except OSError as error:
        raise OutputError(f"{output.parent} is not writable: {error.strerror or error}.") from error
