"""SQL over graded files from Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from exam_pp.plugins.sql.duck import DEFAULT_MEMORY, Limits
from exam_pp.plugins.sql.query import SqlSources, query_result
from exam_pp.plugins.sql.tables import SqlValue

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
    with query_result(sources, sql, parameters or {}, Limits(memory)) as result:
        for row in result:
            yield dict(zip(result.columns, row, strict=True))


def _paths(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
