"""Python API for writing passages files and test banks, and for SQL queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from exam_pp.banks import BankLine, TestBank
from exam_pp.data_model import QueryPassages
from exam_pp.phases.sql.query import SqlSources, SqlStatement, query_result
from exam_pp.store.banks import bank_json
from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.store.sql.duck import DEFAULT_MEMORY, Limits
from exam_pp.store.sql.tables import SqlValue


def write_passages(queries: Iterable[QueryPassages], path: str | Path) -> int:
    """Write a passages file, query by query with constant memory.

    The file is replaced only after the last query is written. An error leaves an existing file unchanged.

    Args:
        queries: Queries with their passages, such as those of :func:`exam_pp.read_passages`.
        path: The file to write. Names that end in ``.gz`` are compressed; ``-`` is standard output.

    Returns:
        The number of queries.

    Raises:
        OutputError: The file cannot be written.
    """
    count = 0
    with passages_writer(path) as writer:
        for count, query in enumerate(queries, 1):  # noqa: B007 - the last count is returned
            writer.write(query)
    return count


def write_bank(bank: TestBank | Iterable[BankLine], path: str | Path) -> None:
    """Write a test bank as JSON lines.

    Args:
        bank: A bank, or bank lines, each with the questions or nuggets of a query or facet.
        path: The file to write. Names that end in ``.gz`` are compressed; ``-`` is standard output.

    Raises:
        OutputError: The file cannot be written.
    """
    bank_json.write_bank(bank.lines if isinstance(bank, TestBank) else bank, path)


Paths = str | Path | Sequence[str | Path]


def query(
    sql: str,
    graded: Paths = (),
    *,
    banks: Paths = (),
    runs: Paths = (),
    scores: Paths = (),
    queries: Paths = (),
    parameters: Mapping[str, SqlValue] | None = None,
    memory: str = DEFAULT_MEMORY,
) -> Iterator[dict[str, SqlValue]]:
    """Run an SQL statement over graded files, like ``exam-pp query`` (tables: docs/how-to/querying.md).

    Args:
        sql: A single DuckDB statement that only reads.
        graded: Graded files, or a database of ``exam-pp query --save``.
        banks: Test banks.
        runs: Run files, or folders of run files.
        scores: Leaderboards.
        queries: Files with texts of queries.
        parameters: Values of the ``$name`` parameters in the statement.
        memory: Memory limit of DuckDB, such as ``2GB``. Larger intermediate results go to disk.

    Returns:
        An iterator over the rows, each a mapping of column to value; ``pandas.DataFrame(query(...))`` makes a
        data frame. The files are read when the first row is requested.

    Raises:
        QueryError: The statement cannot be run, or it does not only read.
        DataError: A file cannot be read or has the wrong format.
    """
    sources = SqlSources(_paths(graded), _paths(banks), _paths(runs), _paths(scores), _paths(queries))
    with query_result(sources, SqlStatement(sql, parameters or {}), Limits(memory)) as result:
        for row in result:
            yield dict(zip(result.columns, row, strict=True))


def _paths(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
