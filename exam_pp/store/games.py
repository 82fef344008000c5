"""Reading and writing games files, one query at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.games import QueryGames
from exam_pp.store.json_lines import read_records, write_records


def read_games(path: str | Path) -> Iterator[QueryGames]:
    """Read a games file, one query at a time.

    Args:
        path: The file, gzipped (detected by its content) or not; ``-`` is standard input.

    Returns:
        An iterator of queries in file order.

    Raises:
        DataError: A line is not in the format, a query has two lines, or the file is empty; the message names
            file, line and field.
    """
    lines: dict[str, int] = {}
    for number, query in read_records(QueryGames, path, "games"):
        if (first := lines.setdefault(query.query_id, number)) != number:
            raise DataError(
                f"the query {query.query_id!r} is also on line {first}; exam-pp merge joins games files.",
                file=str(path), line=number,
            )  # fmt: skip
        yield query


def write_games(
    queries: Iterable[QueryGames], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write queries with their games, one per line, atomically."""
    write_records(queries, path, inputs=inputs)
