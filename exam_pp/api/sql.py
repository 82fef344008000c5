"""SQL over graded files from Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from exam_pp.phases.sql.query import SqlSources, Statement, query_result
from exam_pp.store.sql.duck import DEFAULT_MEMORY, Limits
from exam_pp.store.sql.tables import SqlValue

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
    """Run a SQL statement over graded files, as ``exam-pp query`` does (docs/querying.md has the tables).

    Args:
        sql: One statement of DuckDB that only reads.
        graded: Graded files, or one database of ``exam-pp db``.
        banks: Test banks.
        runs: Run files, or folders of them.
        scores: Leaderboards.
        queries: Files with texts of queries.
        parameters: Values of the ``$names`` in the statement.
        memory: What DuckDB may use, such as ``2GB``; beyond it writes to disk.

    Returns:
        Column to value, for every row; ``pandas.DataFrame(query(...))`` is a data frame of them. Nothing is
        read before the first row is asked for.

    Raises:
        QueryError: The statement cannot be run, or does more than read.
        DataError: A file is not in its format.
    """
    sources = SqlSources(_paths(graded), _paths(banks), _paths(runs), _paths(scores), _paths(queries))
    with query_result(sources, Statement(sql, parameters or {}), Limits(memory)) as result:
        for row in result:
            yield dict(zip(result.columns, row, strict=True))


def _paths(paths: Paths) -> list[Path]:
    return [Path(path) for path in ([paths] if isinstance(paths, str | Path) else paths)]
