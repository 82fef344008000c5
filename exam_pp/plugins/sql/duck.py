"""DuckDB databases of graded files: filling through Arrow, and sandboxed read-only SQL."""

from __future__ import annotations

import gc
import json
import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate, chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exam_pp.errors import DataError, QueryError
from exam_pp.plugins.sql.tables import (
    STORED,
    TABLES,
    VIEWS,
    Row,
    SqlValue,
    StoredName,
    TableName,
)
from exam_pp.store.files import is_stream
from exam_pp.text.wording import is_unicode

if TYPE_CHECKING:
    import duckdb

DEFAULT_MEMORY = "512MB"
_BATCH = 10_000
"""Rows of a table that are inserted at a time; limits the memory of this process."""
_PENDING_BYTES = 2**23
"""Rows are also inserted after this many bytes of JSON."""
_MIN_FILL_MEMORY = 2**25
"""Minimum memory of DuckDB while tables are filled; more would only cache pages that are already written."""
_FILL_FRACTION = 16
_MEMORY_PER_BYTE = 4
"""Bytes of memory that DuckDB needs for each byte of a JSON line."""
_READ_ONLY_STATEMENTS = ("SELECT", "EXPLAIN", "MULTI")
"""Types of statements that only read. DESCRIBE, SHOW and SUMMARIZE have the type SELECT, PIVOT has MULTI.
DuckDB 1.2 to 1.4 parse PIVOT as several statements, so it is refused there."""
_QUERY_FUNCTION = re.compile(r"\bquery(_table)?\s*\(", re.IGNORECASE)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(i?)B", re.IGNORECASE)
_FAILED_IN_PYTHON = re.compile("Traceback|failed to import")
"""Part of the messages of DuckDB if Python lacks a value or the package pytz."""
_MAGIC = b"DUCK"
_BLOCK_SIZE = 2**16
"""Bytes of a block of a new database. DuckDB's default, 256 KB, is mostly empty in small columns."""
_COMPRESSION = {"passage_text": "USING COMPRESSION zstd"}
"""Columns of long texts, for which DuckDB's own choice takes 60 % more space."""
_ARROW_TYPES = {
    "VARCHAR": "string", "INTEGER": "int32", "BIGINT": "int64", "DOUBLE": "float64", "BOOLEAN": "bool_"
}  # fmt: skip
"""Functions of nanoarrow that make the types."""


@dataclass(frozen=True)
class Limits:
    """Memory and threads of DuckDB; beyond ``memory`` it writes temporary files next to the database.

    While tables are filled it gets a sixteenth of the memory (32 MB by default), or more for long lines.
    Raises :class:`QueryError` if ``memory`` is not a size such as ``4GB``.
    """

    memory: str = DEFAULT_MEMORY
    threads: int | None = None

    def __post_init__(self) -> None:
        if not _SIZE.fullmatch(self.memory):
            raise QueryError(f"The memory limit {self.memory!r} is not a size such as 500MB or 4GB.")

    @property
    def bytes(self) -> int:
        """The memory in bytes."""
        match = _SIZE.fullmatch(self.memory)
        assert match is not None, "checked in __post_init__"
        number, unit, binary = match.groups()
        return int(float(number) * (1024 if binary else 1000) ** (1 + "KMGT".index(unit.upper())))

    @property
    def while_filling(self) -> Limits:
        """The limits while tables are filled, which more memory or threads would not speed up."""
        memory = max(_MIN_FILL_MEMORY, self.bytes // _FILL_FRACTION)
        return Limits(_in_kb(min(self.bytes, memory)), threads=1)

    def config(self) -> dict[str, str | bool | int | float | list[str]]:
        """Return the limits as DuckDB's configuration."""
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": self.memory,
            "default_block_size": _BLOCK_SIZE,
        }
        return config | ({"threads": self.threads} if self.threads else {})


def is_database(path: str | Path) -> bool:
    """Whether the first bytes are those of a DuckDB database; False for a stream, which is not read."""
    if is_stream(path):
        return False
    try:
        with Path(path).open("rb") as stream:
            return stream.read(12)[8:] == _MAGIC
    except OSError:
        return False


@contextmanager
def new_database(path: Path, limits: Limits, *, described: bool = False) -> Iterator[Filler]:
    """Create a database with all tables, which the block fills; it is complete on disk after the block.

    If it is ``described``, comments have the descriptions of tables and columns.
    """
    with _connect(path, limits.while_filling) as connection:
        # At the end, all rows go to the database at once, not first to a log.
        connection.execute("SET checkpoint_threshold = '1KB'")
        connection.execute("BEGIN")
        _create_tables(connection)
        if described:
            _describe_tables(connection)
        filler = Filler(connection, limits.while_filling.bytes, limits.bytes)
        yield filler
        filler.flush()
        connection.execute("COMMIT")


def _create_tables(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("CREATE SCHEMA stored")
    for name, stored in STORED.items():
        columns = ", ".join(f'"{c.name}" {c.type} {_COMPRESSION.get(c.name, "")}' for c in stored)
        connection.execute(f"CREATE TABLE {name} ({columns})")
    for name, table in TABLES.items():
        if name in VIEWS:
            connection.execute(f"CREATE VIEW {name} AS {VIEWS[name].sql(table)}")


def _describe_tables(connection: duckdb.DuckDBPyConnection) -> None:
    for name, table in TABLES.items():
        kind = "VIEW" if name in VIEWS else "TABLE"
        connection.execute(f"COMMENT ON {kind} {name} IS {_quoted(table.description)}")
        for column in table.columns:
            connection.execute(f'COMMENT ON COLUMN {name}."{column.name}" IS {_quoted(column.description)}')


@contextmanager
def _connect(path: Path, limits: Limits, *, read_only: bool = False) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    if not is_unicode(str(path)):  # duckdb raises RuntimeError: std::bad_cast
        raise DataError("a database cannot be in a folder whose name is not UTF-8.", file=str(path.parent))
    try:
        connection = duckdb.connect(str(path), read_only=read_only, config=limits.config())
    except (duckdb.Error, ValueError) as error:
        raise DataError(f"cannot be opened as a database: {error_sentence(error)}", file=str(path)) from error
    try:
        yield connection
    except duckdb.Error as error:
        raise QueryError(error_sentence(error)) from error
    finally:
        connection.close()


@dataclass
class Filler:
    """Collects rows and inserts them into DuckDB in batches, table by table."""

    connection: duckdb.DuckDBPyConnection
    memory: int
    max_memory: int
    _pending: int = 0
    _rows: dict[StoredName, list[Row]] = field(default_factory=lambda: {name: [] for name in STORED})

    def add(self, table: StoredName, row: Row) -> None:
        """Append a row, with values in the order of the table's columns."""
        rows = self._rows[table]
        rows.append(row)
        if len(rows) >= _BATCH:
            self._insert(table)

    def expect(self, size: int) -> None:
        """Reserve memory for the rows of a JSON line of ``size`` bytes."""
        self._pending += size
        if self._pending > _PENDING_BYTES:
            self.flush()
            self._pending = size
        needed = min(_MEMORY_PER_BYTE * size, self.max_memory)
        if needed > self.memory:
            self.memory = needed
            self.connection.execute(f"SET memory_limit = '{_in_kb(needed)}'")

    def flush(self) -> None:
        """Insert the pending rows of all tables."""
        for table in STORED:
            self._insert(table)
        gc.collect(0)  # nanoarrow leaves reference cycles, and the collector is disabled while files are read

    def keep_first(self, table: TableName, file: str, query_id: str) -> None:
        """Delete duplicate passages, judgments or rankings of a query that is on several lines of a file."""
        self._insert(table)
        columns = [f'"{column.name}"' for column in TABLES[table].columns]
        key = "passage_id" if table == "passages" else ", ".join(columns)
        where = f"{table} WHERE file = $file AND query_id = $query"
        self.connection.execute(
            f"DELETE FROM {where} AND rowid NOT IN (SELECT min(rowid) FROM {where} GROUP BY {key})",  # noqa: S608 - constant table names
            {"file": file, "query": query_id},
        )

    def _insert(self, table: StoredName) -> None:
        rows = self._rows[table]
        if not rows:
            return
        self.connection.register("batch", _arrow(table, rows))
        self.connection.execute(f"INSERT INTO {table} BY NAME SELECT * FROM batch")  # noqa: S608 - constant table names
        self.connection.unregister("batch")
        rows.clear()


def _arrow(table: StoredName, rows: Sequence[Row]) -> Any:
    """Convert rows to an Arrow stream, without columns that are NULL: each one costs time."""
    import nanoarrow

    pairs = zip(STORED[table], zip(*rows, strict=True), strict=True)
    try:
        columns = {
            column.name: _column(column.type, values)
            for column, values in pairs
            if values[0] is not None or values.count(None) < len(values)
        }
    except ValueError as error:
        if isinstance(error.__cause__, OverflowError):
            raise DataError(f"A number is too large for the table {table}.") from error
        raise
    schema = nanoarrow.struct({name: column.schema for name, column in columns.items()})
    batch = nanoarrow.c_array_from_buffers(schema, len(rows), [None], children=columns.values())
    return nanoarrow.ArrayStream(batch)


def _column(sql_type: str, values: Sequence[Any]) -> Any:
    import nanoarrow

    if not values or (values[0] is None and values.count(None) == len(values)):
        return nanoarrow.c_array_from_buffers(nanoarrow.null(), len(values), [])  # DuckDB gives it a type
    if not sql_type.endswith("[]"):
        type_ = getattr(nanoarrow, _ARROW_TYPES[sql_type])
        # Numbers of a type without NULL are copied by a faster loop, which raises an error at None.
        if sql_type in ("INTEGER", "BIGINT", "DOUBLE"):
            try:
                return nanoarrow.c_array(values, type_(nullable=False))
            except ValueError as error:
                if not isinstance(error.__cause__, TypeError):
                    raise
        return nanoarrow.c_array(values, type_())
    filled: list[Sequence[Any]] = [items or () for items in values]
    items = _column(sql_type.removesuffix("[]"), list(chain.from_iterable(filled)))
    offsets = array("i", accumulate(map(len, filled), initial=0))
    valid = None
    if None in values:
        valid = nanoarrow.c_buffer([value is not None for value in values], nanoarrow.bool_())
    lists = nanoarrow.list_(items.schema)
    return nanoarrow.c_array_from_buffers(lists, len(values), [valid, offsets], children=[items])


class Result:
    """The rows of a query, fetched in batches during iteration; the first batch is fetched at once.

    So a result whose values cannot be converted to Python raises :class:`QueryError` before anything is
    written.
    """

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self.columns: list[str] = [column[0] for column in cursor.description or ()]
        self._first = self._fetch()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        rows, self._first = self._first, []
        while rows:
            yield from rows
            rows = self._fetch()

    def _fetch(self) -> list[tuple[Any, ...]]:
        import duckdb

        try:
            return self._cursor.fetchmany(_BATCH)
        except (duckdb.Error, OverflowError) as error:
            if isinstance(error, duckdb.Error) and not _FAILED_IN_PYTHON.search(str(error)):
                raise
            raise QueryError(
                "The result has a value that Python cannot represent. Cast its column to VARCHAR."
            ) from error


class Reader:
    """Runs SQL on a database in a sandbox.

    A call runs a single read-only statement. It cannot access other files, the network or extensions that are
    not built in, and cannot change settings.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def run(self, sql: str, parameters: Mapping[str, SqlValue] | None = None) -> Result:
        """Run a statement with parameters ``$name``; raises :class:`QueryError`."""
        _check_reads_only(self._connection, sql)
        return Result(self._connection.execute(sql, dict(parameters) if parameters else None))

    def is_empty(self, table: TableName) -> bool:
        """Whether a table has no rows."""
        rows = self._connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()  # noqa: S608 - constant names
        return not rows


@contextmanager
def open_database(path: Path, limits: Limits) -> Iterator[Reader]:
    """Open a database for reading; errors of DuckDB inside the block are raised as :class:`QueryError`."""
    with _connect(path, limits, read_only=True) as connection:
        connection.execute("SET TimeZone = 'UTC'")  # so that results do not depend on the machine
        # These settings protect the system even if a statement passes the check of its type.
        for setting in (
            "python_enable_replacements",
            "autoinstall_known_extensions",
            "autoload_known_extensions",
            "enable_external_access",
        ):
            connection.execute(f"SET {setting} = false")
        connection.execute("SET lock_configuration = true")
        yield Reader(connection)


def export_tables(path: Path, folder: Path, limits: Limits) -> list[Path]:
    """Write the tables of a database that have rows as Parquet files; returns the files."""
    written = []
    with _connect(path, limits, read_only=True) as connection:
        for table in TABLES:
            if not Reader(connection).is_empty(table):
                written.append(folder / f"{table}.parquet")
                connection.execute(f"COPY {table} TO {_quoted(str(written[-1]))} (FORMAT parquet)")
    return written


def tables_of(sql: str) -> set[TableName]:
    """Return the tables that a statement reads or may read; raises :class:`QueryError` for invalid SQL."""
    tree = _parsed(sql)
    if tree is None:  # any word may be a table
        names = set(re.findall(r"\w+", sql.lower()))
    else:
        names = {node["table_name"].lower() for node in _nodes(tree) if "table_name" in node}
    return {name for name in TABLES if name in names}


@cache
def _parsed(sql: str) -> Any:
    """Parse a statement; None unless it is a plain SELECT."""
    import duckdb

    with duckdb.connect() as connection:
        try:
            if not connection.extract_statements(sql):
                raise QueryError("The SQL has no statement.")
            row = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchone()
        except duckdb.Error as error:
            raise QueryError(error_sentence(error)) from error
    tree: dict[str, Any] = json.loads(row[0]) if row else {"error": True}
    return None if tree["error"] or _QUERY_FUNCTION.search(sql) else tree["statements"]


def _nodes(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of a parsed statement, at any depth."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for child in value:
            yield from _nodes(child)


def _check_reads_only(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise QueryError(f"The SQL must be a single statement, but has {len(statements)}.")
    statement_type = _type_of(statements[0])
    if statement_type not in _READ_ONLY_STATEMENTS:
        raise QueryError(
            f"The SQL must only read (SELECT, WITH, FROM, DESCRIBE, SUMMARIZE, SHOW, EXPLAIN), but is a "
            f"statement of type {statement_type}. DuckDB itself runs all statements on a database of --save."
        )


def _type_of(statement: duckdb.Statement) -> str:
    try:
        return statement.type.name
    except ValueError:  # DuckDB's Python package does not know all types of its parser: UPDATE EXTENSIONS
        return "OTHER"


def error_sentence(error: Exception) -> str:
    """Return the message of a DuckDB error as one sentence, without the excerpt of the statement."""
    message = re.split(r"\n\s*LINE \d+:", str(error))[0]
    text = " ".join(message.split())
    if "failed to offload" in text:
        text = (
            "The disk with DuckDB's temporary files is full. Use a folder on another disk (set TMPDIR, or "
            "-o for a database), or allow more memory with -S memory-limit"
        )
    elif "Out of Memory" in text or "out of memory" in text:
        text = f"{text.split(' (')[0].rstrip('.')}. Allow DuckDB more memory with -S memory-limit"
    if match := re.search(r"Table with name (\S+) does not exist!", text):
        text = (
            f"{text.rstrip('?')}? The tables are {', '.join(TABLES)}"
            if "Did you mean" in text
            else f"The table {match[1]} does not exist. The tables are {', '.join(TABLES)}"
        )
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _in_kb(size: int) -> str:
    return f"{size // 1000}KB"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
