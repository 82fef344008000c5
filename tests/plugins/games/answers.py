"""Passages files with answers of several systems, and edits files with decided games."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from exam_pp.data_model import Passage
from exam_pp.plugins.games.page import OpenGame, open_games
from exam_pp.roles import AnswerPart, SystemOutput
from exam_pp.store.edits import FORMAT
from exam_pp.store.passages.graded_file import read_passages


def part(query_id: str, system: str, text: str, **entry: Any) -> dict[str, Any]:
    """The whole answer of a system as a passage."""
    key = f"{system}-answer/{query_id}/{entry.get('repeat', 1)}"
    ranking = {"method": system, "paragraphId": key, "queryId": query_id, "rank": 1, "score": 1.0,
               "role": "answer", **entry}  # fmt: skip
    return {
        "paragraph_id": key,
        "text": text,
        "paragraph_data": {"judgments": [], "rankings": [ranking]},
    }


def document(query_id: str, key: str, text: str, ranks: Mapping[str, int] | None = None) -> dict[str, Any]:
    """A passage that systems retrieved at these ranks."""
    rankings = [
        {"method": system, "paragraphId": key, "queryId": query_id, "rank": rank, "score": 1.0,
         "role": "retrieved"}
        for system, rank in (ranks or {}).items()
    ]  # fmt: skip
    return {"paragraph_id": key, "text": text, "paragraph_data": {"judgments": [], "rankings": rankings}}


def write_lines(path: Path, lines: Iterable[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def answers_file(folder: Path, systems: str = "uvw", queries: Iterable[str] = ("q1", "q2")) -> Path:
    """A passages file with an answer of each system to each query."""
    lines = [
        [
            query_id,
            [
                part(query_id, f"sys-{s}", f"{s} says {query_id} is{f' {s}' * n}.")
                for n, s in enumerate(systems, 1)
            ],
        ]
        for query_id in queries
    ]
    return write_lines(folder / "answers.jsonl", lines)


def queries_file(folder: Path, *queries: str) -> Path:
    path = folder / "queries.tsv"
    path.write_text("".join(f"{key}\tWhat is {key}?\n" for key in queries or ("q1", "q2")), encoding="utf-8")
    return path


def games_in(passages: Path, seed: int = 0) -> list[OpenGame]:
    """All games of a passages file."""
    return [game for query in read_passages(passages) for game in open_games(query, seed)]


def decided(game: OpenGame, winner: str | None, **more: Any) -> dict[str, Any]:
    return {"query_id": game.query_id, "id": game.game_id, "winner": winner, **more}


def game_edits(
    folder: Path, *games: Mapping[str, Any], name: str = "edits.json", reviewer: str = "ana"
) -> Path:
    path = folder / name
    path.write_text(json.dumps({"format": FORMAT, "reviewer": reviewer, "games": games}), encoding="utf-8")
    return path


def output(system: str, text: str, repeat: int | None = None) -> SystemOutput:
    """An answer of one part."""
    return SystemOutput(system, repeat, parts=[AnswerPart(Passage(passage_id="p", text=text))], answered=True)
