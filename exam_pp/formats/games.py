"""Games files: one line per query, with its games by judge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Schema, Source, format_of, make_reader, make_writer, register
from exam_pp.formats.dropped_fields import DroppedFields
from exam_pp.formats.sample import with_keys
from exam_pp.games import QueryGames
from exam_pp.store.files import is_read_once
from exam_pp.store.games import read_games, write_games


def read_any_games(path: str | Path) -> Iterator[QueryGames]:
    """Read games in any format, such as a games file or a file of RAGElo, by query.

    Raises :class:`~exam_pp.errors.DataError` for an invalid file.
    """
    form = _games_format(path)
    if form is None or form.read is None:
        yield from read_games(path)
    else:
        yield from form.read(Source(Path(path), DroppedFields()))


def contains_games(path: str | Path) -> bool:
    """Whether a file contains games, in any format; False for a pipe, which cannot be read twice."""
    return _games_format(path) is not None


def _games_format(path: str | Path) -> Format | None:
    """The format of a file of games; None for another content and for pipes."""
    try:
        form = None if is_read_once(path) else format_of(path)
    except DataError:
        return None
    return form if form is not None and form.content == "games" else None


register(
    Format(
        "games", "games", "games file, one line per query", with_keys("query_id", "game_sets"), read_games,
        "query", make_reader(read_games), make_writer(write_games),
        schema=Schema("games", "a line of a games file", QueryGames),
    ),
)  # fmt: skip
