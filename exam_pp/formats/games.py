"""Games files: one line per query, with its games by judge."""

from __future__ import annotations

from exam_pp.formats.base import Format, Schema, make_reader, make_writer, register
from exam_pp.formats.sample import with_keys
from exam_pp.games import QueryGames
from exam_pp.store.games import read_games, write_games

register(
    Format(
        "games", "games", "games file, one line per query", with_keys("query_id", "game_sets"), read_games,
        "query", make_reader(read_games), make_writer(write_games),
        schema=Schema("games", "a line of a games file", QueryGames),
    ),
)  # fmt: skip
