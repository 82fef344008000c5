"""Games files for tests of tournaments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.plugins.games.outcomes import Outcome
from exam_pp.store.games_files import write_games


def game(system_a: str, system_b: str, winner: str | None, **fields: Any) -> Game:
    """A game."""
    return Game.model_validate({"system_a": system_a, "system_b": system_b, "winner": winner, **fields})


def game_set(games: Iterable[Game], model: str = "judge", prompt: str = "P", version: str = "1") -> GameSet:
    """The games of a judge."""
    info = {"prompt_class": prompt, "prompt_hash": version}
    return GameSet.model_validate({"llm": model, "prompt_info": info, "games": list(games)})


def games_file(path: Path, queries: Mapping[str, Sequence[Game] | Sequence[GameSet]]) -> Path:
    """Write a games file: query to games of one judge, or to sets of games."""
    lines = []
    for query_id, games in queries.items():
        sets = [of for of in games if isinstance(of, GameSet)]
        sets = sets or [game_set([of for of in games if isinstance(of, Game)])]
        lines.append(QueryGames(query_id=query_id, game_sets=sets))
    write_games(lines, path)
    return path


def file_of(path: Path, outcomes: Iterable[Outcome]) -> Path:
    """Write outcomes as a games file."""
    queries: dict[str, list[Game]] = {}
    for query_id, a, b, score in outcomes:
        queries.setdefault(query_id, []).append(game(a, b, {1.0: "A", 0.0: "B", 0.5: "C"}[score]))
    return games_file(path, queries)
