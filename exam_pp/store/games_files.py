"""Reading and writing games files, one query at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from exam_pp.errors import DataError
from exam_pp.games import QueryGames
from exam_pp.splicing import duplicate_key
from exam_pp.store.files import read_lines
from exam_pp.store.parsing import data_error, write_records

_NOT_GAMES = (
    "is not a line of a games file, which is a JSON object. `exam-pp evaluate elo` also takes scores of a "
    "graded file, of `evaluate ... --per-query`; exam-pp validate detects the format of a file."
)


def read_games(path: str | Path) -> Iterator[QueryGames]:
    """Read a games file, one query at a time.

    Args:
        path: The file, gzipped (detected by its content) or not; ``-`` is standard input.

    Returns:
        An iterator of queries in file order.

    Raises:
        DataError: A line is not in the format or has a key twice, a query has two lines, or the file is
            empty; the message names file, line and field.
    """
    return games_in(read_lines(path), path)


def games_in(lines: Iterable[tuple[int, bytes]], path: str | Path) -> Iterator[QueryGames]:
    """Parse the numbered lines of a games file; raises :class:`DataError` as :func:`read_games` does."""
    first_lines: dict[str, int] = {}
    for number, line in lines:
        query = parse_games(line, path, number)
        if (first := first_lines.setdefault(query.query_id, number)) != number:
            raise DataError(
                f"the query {query.query_id!r} is also on line {first}; exam-pp merge joins games files.",
                file=str(path), line=number,
            )  # fmt: skip
        yield query
    if not first_lines:
        raise DataError("has no games.", file=str(path))


def parse_games(line: bytes, path: str | Path, number: int) -> QueryGames:
    """Parse a line of a games file; raises :class:`DataError` with file, line and field.

    A key that is twice in an object is an error, because only its last value would be kept.
    """
    try:
        # By alias only, so an unknown key `model` or `error` is not taken for the Python attribute.
        query = QueryGames.model_validate_json(line, by_alias=True, by_name=False)
    except ValidationError as error:
        if line[:1] == b"[":
            raise DataError(_NOT_GAMES, file=str(path), line=number) from error
        raise data_error(error, path, number) from error
    if (key := duplicate_key(line)) is not None:
        raise DataError(f"has the key {key!r} twice in one object.", file=str(path), line=number)
    return query


def is_games_line(line: bytes) -> bool:
    """Whether a line of JSON looks like one of a games file, whatever its errors."""
    return line[:1] == b"{" and b'"game_sets"' in line


def is_games_file(path: str | Path) -> bool:
    """Whether a file is a games file by its first line.

    Raises :class:`DataError` if the file cannot be read.
    """
    return any(is_games_line(line) for _, line in islice(read_lines(path), 1))


def write_games(
    queries: Iterable[QueryGames], path: str | Path, *, inputs: Iterable[str | Path] = ()
) -> None:
    """Write a games file, query by query.

    The file is replaced only after the last query is written. An error leaves an existing file unchanged.

    Args:
        queries: Queries with their games, such as those of :func:`exam_pp.read_games`.
        path: The file to write. Names that end in ``.gz`` are compressed; ``-`` is standard output.
        inputs: Files that must not be overwritten.

    Raises:
        OutputError: The file cannot be written.
    """
    write_records(queries, path, inputs=inputs)
