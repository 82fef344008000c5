"""Databases of graded files: filled through Arrow, read by SQL that can touch nothing else."""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exam_pp.errors import DataError, QueryError
from exam_pp.store.files import is_stream
from exam_pp.store.sql.tables import TABLES, Row, SqlType, SqlValue, Table, TableName

if TYPE_CHECKING:
    import duckdb

DEFAULT_MEMORY = "512MB"
_BATCH = 10_000
"""Rows of a table that are collected before DuckDB gets them; bounds our own memory."""
_WAITING = 2**23
"""Rows of so many bytes of JSON are no longer collected, however few they are."""
_FILLING = 2**25
"""What DuckDB gets at least while tables are filled: more would only hold pages that it has written."""
_FILLING_SHARE = 16
_PER_BYTE = 4
"""So many times a line of JSON its rows need in DuckDB."""
_READING = ("SELECT", "EXPLAIN", "MULTI")
"""Types of statements that only read. DESCRIBE, SHOW and SUMMARIZE are SELECT; PIVOT is MULTI (in DuckDB
1.2 to 1.4 it was several statements, and would be refused)."""
_TABLES_IN_TEXTS = re.compile(r"\bquery(_table)?\s*\(", re.IGNORECASE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)
_MAGIC = b"DUCK"


@dataclass(frozen=True)
class Limits:
    """What DuckDB may use. Beyond ``memory`` it writes to disk, beside the database.

    While tables are filled it gets a sixteenth of that (32 MB of the default), or more for long lines.
    Raises :class:`QueryError` for a memory that is no size.
    """

    memory: str = DEFAULT_MEMORY
    threads: int | None = None

    def __post_init__(self) -> None:
        if not _SIZE.fullmatch(self.memory):
            raise QueryError(f"The memory limit {self.memory!r} is no size such as 500MB or 4GB.")

    @property
    def bytes(self) -> int:
        """The memory in bytes."""
        match = _SIZE.fullmatch(self.memory)
        assert match is not None, "checked before"
        number, unit, binary = match.groups()
        return int(float(number) * (1024 if binary else 1000) ** (1 + "KMGT".index(unit.upper())))

    @property
    def while_filling(self) -> Limits:
        """The limits of a connection that only takes rows: more memory, or threads, would not be of use."""
        share = max(_FILLING, self.bytes // _FILLING_SHARE)
        return Limits(_shown(min(self.bytes, share)), threads=1)

    def config(self) -> dict[str, str | bool | int | float | list[str]]:
        """As DuckDB is told."""
        config: dict[str, str | bool | int | float | list[str]] = {"memory_limit": self.memory}
        return config | ({"threads": self.threads} if self.threads else {})


def is_database(path: str | Path) -> bool:
    """Whether the file is a database of DuckDB, by its first bytes (which a stream has only once)."""
    if is_stream(path):
        return False
    try:
        with Path(path).open("rb") as stream:
            return stream.read(12)[8:] == _MAGIC
    except OSError:
        return False


@contextmanager
def new_database(path: Path, limits: Limits) -> Iterator[Filler]:
    """A database with all tables, empty; filled inside the block, and complete on disk after it."""
    with _connect(path, limits.while_filling) as connection:
        _create_tables(connection)
        connection.execute("BEGIN")
        filler = Filler(connection, limits.while_filling.bytes, limits.bytes)
        yield filler
        filler.flush()
        connection.execute("COMMIT")


def _create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    for table in TABLES.values():
        columns = ", ".join(f"{column.name} {column.type}" for column in table.columns)
        connection.execute(f"CREATE TABLE {table.name} ({columns})")
        connection.execute(f"COMMENT ON TABLE {table.name} IS {_quoted(table.description)}")
        for column in table.columns:
            connection.execute(
                f"COMMENT ON COLUMN {table.name}.{column.name} IS {_quoted(column.description)}"
            )


@contextmanager
def _connect(path: Path, limits: Limits, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb  # noqa: PLC0415 - slow to import

    try:
        connection = duckdb.connect(str(path), read_only=read_only, config=limits.config())
    except (duckdb.Error, ValueError) as error:
        raise DataError(f"cannot be opened as a database: {sentence(error)}", file=str(path)) from error
    try:
        yield connection
    except duckdb.Error as error:
        raise QueryError(sentence(error)) from error
    finally:
        connection.close()


@dataclass
class Filler:
    """Takes rows and hands them to DuckDB in batches, table by table."""

    connection: duckdb.DuckDBPyConnection
    memory: int
    most_memory: int
    _waiting: int = 0
    _rows: dict[TableName, list[Row]] = field(default_factory=lambda: {name: [] for name in TABLES})

    def add(self, table: TableName, row: Row) -> None:
        """Append a row, whose values are in the order of the table's columns."""
        rows = self._rows[table]
        rows.append(row)
        if len(rows) >= _BATCH:
            self._insert(table)

    def expect(self, size: int) -> None:
        """Prepare for the rows of a line of JSON that has so many bytes."""
        self._waiting += size
        if self._waiting > _WAITING:
            self.flush()
            self._waiting = size
        needed = min(_PER_BYTE * size, self.most_memory)
        if needed > self.memory:
            self.memory = needed
            self.connection.execute(f"SET memory_limit = '{_shown(needed)}'")

    def flush(self) -> None:
        """Insert what is still waiting."""
        for table in TABLES:
            self._insert(table)

    def keep_first(self, table: TableName, file: str, query_id: str) -> None:
        """Keep a passage, or a judgment or place of it, once: for queries on several lines."""
        self._insert(table)
        columns = [column.name for column in TABLES[table].columns]
        same = "passage_id" if table == "passages" else ", ".join(columns)
        where = f"{table} WHERE file = $file AND query_id = $query"
        self.connection.execute(
            f"DELETE FROM {where} AND rowid NOT IN (SELECT min(rowid) FROM {where} GROUP BY {same})",  # noqa: S608 - table names are ours
            {"file": file, "query": query_id},
        )

    def _insert(self, table: TableName) -> None:
        rows = self._rows[table]
        if not rows:
            return
        self.connection.register("batch", _arrow(TABLES[table], rows))
        self.connection.execute(f"INSERT INTO {table} SELECT * FROM batch")  # noqa: S608 - table names are ours
        self.connection.unregister("batch")
        rows.clear()
        gc.collect(0)  # nanoarrow leaves cycles, and whoever reads many lines keeps the collector waiting


def _arrow(table: Table, rows: Sequence[Row]) -> Any:
    """The rows as an Arrow stream."""
    import nanoarrow  # noqa: PLC0415 - only for SQL

    columns = list(zip(*rows, strict=True))
    try:
        arrays = [_column(c.type, values) for c, values in zip(table.columns, columns, strict=True)]
    except ValueError as error:
        if isinstance(error.__cause__, OverflowError):
            raise DataError(f"a number is too large for the table {table.name}.") from error
        raise
    schema = nanoarrow.struct({c.name: _arrow_type(c.type) for c in table.columns})
    batch = nanoarrow.c_array_from_buffers(schema, len(rows), [None], children=arrays)
    return nanoarrow.ArrayStream(batch)


def _arrow_type(kind: SqlType) -> Any:
    import nanoarrow  # noqa: PLC0415 - only for SQL

    types: Mapping[SqlType, Callable[[], Any]] = {
        "VARCHAR": nanoarrow.string,
        "INTEGER": nanoarrow.int32,
        "BIGINT": nanoarrow.int64,
        "DOUBLE": nanoarrow.float64,
        "BOOLEAN": nanoarrow.bool_,
        "VARCHAR[]": lambda: nanoarrow.list_(nanoarrow.string()),
    }
    return types[kind]()


def _column(kind: SqlType, values: Sequence[Any]) -> Any:
    import nanoarrow  # noqa: PLC0415 - only for SQL

    if kind != "VARCHAR[]":
        return nanoarrow.c_array(values, _arrow_type(kind))
    lists: Sequence[list[str] | None] = values
    texts = nanoarrow.c_array([text for texts in lists for text in texts or ()], nanoarrow.string())
    offsets = nanoarrow.c_buffer(
        list(accumulate((len(texts or ()) for texts in lists), initial=0)), nanoarrow.int32()
    )
    valid = nanoarrow.c_buffer([texts is not None for texts in lists], nanoarrow.bool_())
    return nanoarrow.c_array_from_buffers(_arrow_type(kind), len(lists), [valid, offsets], children=[texts])


class Result:
    """The rows of a query, fetched as they are asked for."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self.columns: list[str] = [column[0] for column in cursor.description or ()]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while rows := self._cursor.fetchmany(_BATCH):
            yield from rows


class Reader:
    """SQL over a database.

    Sandboxed, which is the default, one statement is run that only reads, and it sees no file but the
    database, no network, no extension that is not built in, and no setting that it could change.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, sandboxed: bool) -> None:
        self._connection = connection
        self._sandboxed = sandboxed

    def run(self, sql: str, parameters: Mapping[str, SqlValue] | None = None) -> Result:
        """Run a statement; ``$name`` stands for a parameter. Raises :class:`QueryError`."""
        if self._sandboxed:
            _check_reads_only(self._connection, sql)
        return Result(self._connection.execute(sql, dict(parameters) if parameters else None))

    def to_parquet(self, sql: str, target: Path, parameters: Mapping[str, SqlValue] | None = None) -> None:
        """Write the rows of a query to a new file, which :func:`open_database` was told of."""
        if self._sandboxed:
            _check_reads_only(self._connection, sql)
        options = "FORMAT parquet, USE_TMP_FILE false"  # one file may be written, and no other beside it
        statement = f"COPY ({_without_end(sql)}\n) TO {_quoted(str(target))} ({options})"
        self._connection.execute(statement, dict(parameters) if parameters else None)

    def is_empty(self, table: TableName) -> bool:
        """Whether a table has no rows."""
        found = self._connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()  # noqa: S608 - our names
        return not found


@contextmanager
def open_database(
    path: Path, limits: Limits, *, sandboxed: bool = True, read_only: bool = True, writes: Path | None = None
) -> Iterator[Reader]:
    """A database for reading; ``writes`` is the one file that :meth:`Reader.to_parquet` may make.

    Raises :class:`QueryError` inside the block for whatever DuckDB refuses.
    """
    with _connect(path, limits, read_only=read_only) as connection:
        if sandboxed:
            # The sandbox stands also where a statement slips through the check of its type.
            if writes is not None:
                connection.execute(f"SET allowed_paths = [{_quoted(str(writes))}]")
            for setting in (
                "python_enable_replacements",
                "autoinstall_known_extensions",
                "autoload_known_extensions",
                "enable_external_access",
            ):
                connection.execute(f"SET {setting} = false")
            connection.execute("SET lock_configuration = true")
        yield Reader(connection, sandboxed=sandboxed)


def tables_of(sql: str) -> set[TableName]:
    """Which tables a statement reads, or may read; raises :class:`QueryError` where it is no SQL."""
    import duckdb  # noqa: PLC0415 - slow to import

    with duckdb.connect() as connection:
        try:
            if not connection.extract_statements(sql):
                raise QueryError("There is no statement in the SQL.")
            found = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchone()
        except duckdb.Error as error:
            raise QueryError(sentence(error)) from error
    tree: dict[str, Any] = json.loads(found[0]) if found else {"error": True}
    if tree["error"] or _TABLES_IN_TEXTS.search(sql):  # no SELECT: any word may be a table
        named = set(re.findall(r"\w+", sql.lower()))
    else:
        named = {name.lower() for name in _table_names(tree["statements"])}
    return {name for name in TABLES if name in named}


def _table_names(node: Any) -> Iterator[str]:
    """The names of tables in a parsed statement, at any depth."""
    if isinstance(node, dict):
        if isinstance(name := node.get("table_name"), str):
            yield name
        node = list(node.values())
    if isinstance(node, list):
        for child in node:
            yield from _table_names(child)


def _check_reads_only(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise QueryError(f"One statement is run at a time, and the SQL has {len(statements)}.")
    kind = statements[0].type.name
    if kind not in _READING:
        raise QueryError(
            f"The SQL may only read (SELECT, WITH, FROM, DESCRIBE, SUMMARIZE, SHOW, EXPLAIN), but this is "
            f"{kind}; --unsafe-sql allows everything."
        )


def _without_end(sql: str) -> str:
    """The statement without its semicolon, and the comments behind that."""
    import duckdb  # noqa: PLC0415 - slow to import

    text = sql.encode()
    for offset, kind in reversed(duckdb.tokenize(sql)):
        if text[offset : offset + 1] == b";":
            text = text[:offset]
        elif kind != duckdb.token_type.comment:
            break
    return text.decode()


def sentence(error: Exception) -> str:
    """What DuckDB says, as one sentence: without the drawing of where in the statement it is."""
    words = re.split(r"\n\s*LINE \d+:", str(error))[0]
    text = " ".join(words.split())
    if "failed to offload" in text:
        text = (
            "The disk of DuckDB's temporary files is full: name a folder on another one (TMPDIR; for a "
            "database -o), or give DuckDB more memory with --memory-limit"
        )
    elif "Out of Memory" in text or "out of memory" in text:
        text = f"{text.split(' (')[0].rstrip('.')}; give DuckDB more with --memory-limit"
    if match := re.search(r"Table with name (\S+) does not exist!", text):
        text = (
            f"{text.rstrip('?')}? The tables are {', '.join(TABLES)}"
            if "Did you mean" in text
            else (f"There is no table {match[1]}; the tables are {', '.join(TABLES)}")
        )
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _shown(size: int) -> str:
    return f"{size // 1000}KB"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
