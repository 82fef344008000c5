"""SQL over graded files, banks, runs and leaderboards; and databases of them to keep."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any

from exam_pp.errors import DataError, OutputError, SelectionError
from exam_pp.formats.scores import read_all_scores
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.files import atomic_output, check_output, folder_output, is_stream, work_folder
from exam_pp.store.sql.duck import (
    Filler,
    Limits,
    Reader,
    Result,
    is_database,
    new_database,
    open_database,
    tables_of,
)
from exam_pp.store.sql.rows import GradedRows, shown_path
from exam_pp.store.sql.tables import OF_GRADED_FILES, TABLES, SqlValue, TableName
from exam_pp.store.trec.queries import read_queries
from exam_pp.store.trec.runs import MethodName, read_run, run_files, warn_of_left_out_runs

log = logging.getLogger(__name__)

ONCE_A_PASSAGE: frozenset[TableName] = frozenset({"passages", "judgments", "rankings"})
"""Tables that hold what a file says twice of a passage as one row."""


@dataclass(frozen=True)
class SqlSources:
    """What SQL reads: graded files, and what may stand beside them.

    ``runs`` are run files or folders of them, ``scores`` leaderboards, ``queries`` files of query texts.
    Instead of all these, ``graded`` may be one database that :func:`build_database` made.
    """

    graded: Sequence[Path] = ()
    banks: Sequence[Path] = ()
    runs: Sequence[Path] = ()
    scores: Sequence[Path] = ()
    queries: Sequence[Path] = ()
    method_name: MethodName = "stem"

    def check(self) -> None:
        """Raise :class:`DataError` for a file that is not there, also one that no table needs.

        Raises :class:`SelectionError` for a graded file that is named twice: its rows would count twice.
        """
        for path in self.files():
            if not is_stream(path) and not path.exists():
                raise DataError("cannot be read (No such file or directory).", file=str(path))
        seen: set[Path] = set()
        for path in self.graded:
            if path.resolve() in seen:
                raise SelectionError(f"{path} is named twice, and its rows would count twice.")
            seen.add(path.resolve())

    def files(self) -> list[Path]:
        """Every input, runs as they were named."""
        return [*self.graded, *self.banks, *self.runs, *self.scores, *self.queries]

    @property
    def database(self) -> Path | None:
        """The database, where that is what was named; raises :class:`SelectionError` for a mixture."""
        found = [path for path in self.graded if is_database(path)]
        if found and len(self.files()) > 1:
            raise SelectionError(f"{found[0]} is a database, which is queried alone.")
        return found[0] if found else None


@dataclass(frozen=True)
class Statement:
    """A SQL statement, its parameters, and whether it may do more than read."""

    sql: str
    parameters: Mapping[str, SqlValue] = field(default_factory=dict)
    unsafe: bool = False


RowWriter = Callable[[Sequence[str], Iterable[Sequence[Any]], IO[bytes]], None]
"""Writes columns and rows, which come one by one, to a stream."""


def query_files(
    sources: SqlSources, statement: Statement, output: str | Path, write: RowWriter, limits: Limits
) -> None:
    """Run a statement over the sources and write its rows.

    Only the tables that the statement names are filled. Raises :class:`~exam_pp.errors.QueryError` for SQL
    that cannot be run, and whatever reading the sources raises.
    """
    check_output(output, sources.files())
    with (
        query_result(sources, statement, limits) as result,
        atomic_output(output, inputs=sources.files()) as stream,
    ):
        write(result.columns, result, stream)


def query_to_parquet(sources: SqlSources, statement: Statement, output: str | Path, limits: Limits) -> None:
    """As :func:`query_files`, in the Parquet format."""
    check_output(output, sources.files())
    with TemporaryDirectory(prefix="exam-pp-") as folder:
        parquet = Path(folder) / "rows.parquet"
        with _opened(sources, statement, Path(folder), limits, parquet) as reader:
            reader.to_parquet(statement.sql, parquet, statement.parameters)
            with atomic_output(output, inputs=sources.files()) as stream, parquet.open("rb") as source:
                shutil.copyfileobj(source, stream)


@contextmanager
def query_result(sources: SqlSources, statement: Statement, limits: Limits) -> Iterator[Result]:
    """The rows of a statement, for Python and for terminals; errors as of :func:`query_files`."""
    with (
        TemporaryDirectory(prefix="exam-pp-") as folder,
        _opened(sources, statement, Path(folder), limits) as reader,
    ):
        yield reader.run(statement.sql, statement.parameters)


@contextmanager
def _opened(
    sources: SqlSources, statement: Statement, folder: Path, limits: Limits, writes: Path | None = None
) -> Iterator[Reader]:
    sources.check()
    database, sandboxed = sources.database, not statement.unsafe
    wanted = tables_of(statement.sql)
    if database is not None:
        with open_database(database, limits, sandboxed=sandboxed, writes=writes) as reader:
            yield reader
        return
    path = folder / "query.duckdb"
    with new_database(path, limits) as filler:
        fill(filler, sources, wanted)
    # Only a copy is changed where everything is allowed.
    with open_database(path, limits, sandboxed=sandboxed, read_only=sandboxed, writes=writes) as reader:
        _say_what_is_empty(reader, wanted)
        yield reader


def _say_what_is_empty(reader: Reader, wanted: Collection[TableName]) -> None:
    options: Mapping[TableName, str] = {"bank": "--bank", "runs": "--runs", "scores": "--scores"}
    for table in TABLES:
        if table in wanted and reader.is_empty(table):
            hint = f": name a file with {options[table]}" if table in options else ""
            log.warning("The table %s has no rows%s.", table, hint)


def fill(filler: Filler, sources: SqlSources, wanted: Collection[TableName]) -> None:
    """Read the sources once and fill the wanted tables."""
    queries: dict[str, tuple[str | None, str | None]] = {}
    if "queries" in wanted:
        for path in sources.queries:
            for key, query in read_queries(path).items():
                queries[key] = (query.query_text, None)
    if {"bank", "queries"} & set(wanted):
        for path in sources.banks:
            _fill_bank(filler, path, wanted, queries)
    if {"queries", *OF_GRADED_FILES} & set(wanted):
        rows = GradedRows(wanted, filler.add, filler.expect)
        for path in sources.graded:
            rows.read(path)
        for file, query_id in sorted(rows.repeated):
            for table in ONCE_A_PASSAGE & set(wanted):
                filler.keep_first(table, file, query_id)
        queries = queries | {key: (None, None) for key in rows.queries if key not in queries}
    if "runs" in wanted:
        for path in sources.runs:
            warn_of_left_out_runs(path)
        for run in (run for path in sources.runs for run in run_files(path)):
            for line in read_run(run, method=sources.method_name):
                row = (shown_path(run), line.system, line.query_id, line.passage_id, line.rank, line.score)
                filler.add("runs", row)
    if "scores" in wanted:
        for path in sources.scores:
            for score in read_all_scores(path):
                filler.add("scores", (shown_path(path), *score))
    if "queries" in wanted:
        for key, (text, collection) in queries.items():
            filler.add("queries", (key, text, collection))


def _fill_bank(
    filler: Filler,
    path: Path,
    wanted: Collection[TableName],
    queries: dict[str, tuple[str | None, str | None]],
) -> None:
    seen: set[tuple[str, str]] = set()
    for line in read_bank(path, packed=True).lines:
        text, collection = queries.get(line.query_id, (None, None))
        queries[line.query_id] = (text or line.query_text or None, collection or line.test_collection or None)
        if "bank" not in wanted:
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
    """Write all tables into one database of DuckDB; its comments say what the columns are."""
    check_output(output, sources.files())
    with (
        _built(sources, output.resolve(), limits) as path,
        atomic_output(output, inputs=sources.files()) as stream,
        path.open("rb") as database,
    ):
        shutil.copyfileobj(database, stream)


def export_parquet(sources: SqlSources, folder: Path, limits: Limits) -> list[Path]:
    """Write a Parquet file for every table that has rows; the folder is made where it does not exist."""
    written = []
    with folder_output(folder, sources.files()) as work, _built(sources, work / "tables", limits) as path:
        part = path.with_name("table.parquet")
        with open_database(path, limits, writes=part) as reader:
            for table in TABLES:
                if not reader.is_empty(table):
                    reader.to_parquet(f"SELECT * FROM {table}", part)  # noqa: S608 - table names are ours
                    written.append(part.replace(work / f"{table}.parquet"))
    return [folder / file.name for file in written]


@contextmanager
def _built(sources: SqlSources, output: Path, limits: Limits) -> Iterator[Path]:
    """A database of all tables beside the output: a temporary folder of the system may be too small."""
    sources.check()
    if sources.database is not None:
        raise SelectionError(f"{sources.database} is a database already.")
    try:
        with work_folder(output) as folder:
            path = folder / "tables.duckdb"
            with new_database(path, limits) as filler:
                fill(filler, sources, TABLES.keys())
            yield path
    except OSError as error:
        raise OutputError(f"Nothing can be written to {output.parent}: {error.strerror or error}.") from error
