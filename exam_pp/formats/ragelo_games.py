"""Games between answers of two systems, from RAGElo's pairwise evaluator, as CSV and JSON lines.

CSV: ``qid, agent_a, agent_b, raw_answer, answer, relevance``. JSON lines: ``qid, agent_a, agent_b,
evaluator_name, exception, raw_answer, answer {winner, ...}``. Winners are ``A``, ``B``, or ``C`` for a tie.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import ValidationError, model_validator

from exam_pp.data_model import Id, Record
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Schema, Target, csv_format, make_reader, make_writer, register
from exam_pp.formats.dropped_fields import trimmed
from exam_pp.formats.sample import with_columns, with_keys
from exam_pp.store.csv_cells import Cells, Layout, write_cells
from exam_pp.store.json_lines import read_records, write_records
from exam_pp.store.parsing import data_error

Verdict = Literal["A", "B", "C"]
GAMES = Layout(
    ("qid", "agent_a", "agent_b", "raw_answer", "answer"), ("relevance",), ("qid", "agent_a", "agent_b")
)


class GameAnswer(Record):
    """The evaluator's verdict; ``winner`` is None if no verdict could be read."""

    winner: Verdict | None = None


class Game(Record):
    """A comparison of two systems' answers to a query. A failed game has no winner and is not a tie."""

    qid: Id
    agent_a: Id
    agent_b: Id
    evaluator_name: str | None = None
    exception: str | None = None
    raw_answer: str | None = None
    answer: GameAnswer | None = None
    relevance: Any = None

    @model_validator(mode="before")
    @classmethod
    def _verdict_alone(cls, value: Any) -> Any:
        if isinstance(value, dict) and isinstance(value.get("answer"), str):
            return {**value, "answer": {"winner": value["answer"]} if value["answer"] else None}
        return value

    @model_validator(mode="after")
    def _of_two_systems(self) -> Game:
        if self.agent_a == self.agent_b:
            raise ValueError(f"agent_a and agent_b are both {self.agent_a!r}, but a game needs two agents")
        return self

    @property
    def winner(self) -> Verdict | None:
        """The verdict; None if the game has no verdict."""
        return self.answer.winner if self.answer else None


def games_of(cells: Cells, path: str | Path) -> list[Game]:
    """Parse games; raises :class:`DataError` for an answer that is not a verdict."""
    games: list[Game] = []
    for line, row in cells.rows:
        if row["answer"] not in ("", *get_args(Verdict)):
            problem = f"{row['answer']!r} is not a verdict; write A, B or C (a tie), or leave the cell empty."
            raise DataError(problem, file=str(path), line=line, field="answer")
        try:
            games.append(Game.model_validate({name: cell for name, cell in row.items() if cell}))
        except ValidationError as error:
            raise data_error(error, path, line) from error
    return games


def read_game_lines(path: str | Path) -> Iterator[Game]:
    """Read the games of a JSON lines file, in file order; raises :class:`DataError`."""
    return (game for _, game in read_records(Game, path, "games"))


def _write_games(games: Iterable[Game], target: Target) -> None:
    def rows() -> Iterator[tuple[str, ...]]:
        for game in games:
            target.dropped.add("evaluator names", bool(game.evaluator_name))
            target.dropped.add("evaluator errors", bool(game.exception))
            target.dropped.keys(game.model_extra)
            target.dropped.keys(game.answer.model_extra if game.answer else None)
            relevance = "" if game.relevance is None else trimmed(str(game.relevance), target.dropped)
            structured = isinstance(game.relevance, bool | list | dict)
            target.dropped.add("relevance values that are neither text nor number", structured)
            raw = trimmed(game.raw_answer or "", target.dropped)
            yield game.qid, game.agent_a, game.agent_b, raw, game.winner or "", relevance

    write_cells((*GAMES.required, *GAMES.optional), rows(), target.path, ids=GAMES.ids, inputs=target.inputs)


register(
    csv_format(
        "ragelo-games", "games", "games between answers of RAGElo, CSV",
        with_columns("qid", "agent_a", "agent_b", "answer"), GAMES, games_of, "game", _write_games,
    ),
    Format(
        "ragelo-games-jsonl", "games", "games between answers of RAGElo, JSON lines",
        with_keys("qid", "agent_a", "agent_b"), read_game_lines, "game", make_reader(read_game_lines),
        make_writer(write_records), schema=Schema("games", "a line of games between answers of RAGElo", Game),
    ),
)  # fmt: skip
