"""Games between answers of two systems, from RAGElo's pairwise evaluator, as CSV and JSON lines.

CSV: ``qid, agent_a, agent_b, raw_answer, answer, relevance``; ``raw_answer`` and ``relevance`` are optional
columns. JSON lines: ``qid, agent_a, agent_b, evaluator_name, exception, raw_answer, answer {winner, ...}``.
Winners are ``A``, ``B``, or ``C`` for a tie.
The results of an experiment (``NAME_results.jsonl``) also have lines on documents and answers, and ratings.
The records here are RAGElo's; readers return the queries of games files (:mod:`exam_pp.games`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import model_validator

from exam_pp import games
from exam_pp.data_model import Id
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Schema, Target, csv_format, register
from exam_pp.formats.dropped_fields import EMPTY, DroppedFields, trimmed
from exam_pp.formats.sample import Fit, Sample, fits, with_columns
from exam_pp.games import GameSet, QueryGames
from exam_pp.models import Record
from exam_pp.roles import DistinctNames
from exam_pp.store.csv_cells import write_cells
from exam_pp.store.files import read_lines
from exam_pp.store.parsing import parse_record, valid, write_records
from exam_pp.store.tables import Cells, Layout

GAMES = Layout(
    ("qid", "agent_a", "agent_b", "answer"), ("raw_answer", "relevance"), ("qid", "agent_a", "agent_b")
)


class GameAnswer(Record):
    """The evaluator's verdict; ``winner`` is None if no verdict could be read."""

    winner: games.Winner | None = None


class RageloGame(Record):
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
    def _of_two_systems(self) -> RageloGame:
        if self.agent_a == self.agent_b:
            raise ValueError(f"agent_a and agent_b are both {self.agent_a!r}, but a game needs two agents")
        return self

    @property
    def winner(self) -> games.Winner | None:
        """The verdict; None if the game has no verdict."""
        return self.answer.winner if self.answer else None


def games_of(cells: Cells, path: str | Path) -> list[RageloGame]:
    """Parse games; raises :class:`DataError` for an answer that is not a verdict."""
    parsed: list[RageloGame] = []
    for line, row in cells:
        if row["answer"] not in ("", *games.WINNERS):
            problem = f"{row['answer']!r} is not a verdict; write A, B or C (a tie), or leave the cell empty."
            raise DataError(problem, file=str(path), line=line, field="answer")
        parsed.append(
            valid(RageloGame.model_validate, {key: cell for key, cell in row.items() if cell}, path, line)
        )
    return parsed


def read_game_lines(path: str | Path) -> Iterator[RageloGame]:
    """Read the games of a JSON lines file, in file order.

    Lines of an experiment's results that are no games are left out: evaluations of documents and of single
    answers, and ratings.
    """
    found = False
    for number, text in read_lines(path):
        if not _is_other_result(text):
            found = True
            yield parse_record(RageloGame, text, path, number)
    if not found:
        raise DataError("has no games.", file=str(path))


def _is_other_result(text: bytes) -> bool:
    """Whether a line is the result of another evaluator of RAGElo, or of its ranker."""
    if b'"agent_a"' in text:
        return False
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(line, dict) and ("evaluator_name" in line and not line.keys() & {"agent_a", "agent_b"})


def _are_game_lines(sample: Sample) -> bool:
    """Whether the first line is a game, or another line of an experiment's results."""
    keys = sample.object.keys()
    return keys >= {"qid", "agent_a", "agent_b"} or keys >= {"qid", "evaluator_name", "exception"}


EVALUATION = "ragelo_evaluation"
"""The key of a game for the evaluator's structured answer without the winner, such as ``differences``."""
_OWN_KEYS = frozenset(
    {"query_id", "game_sets", EVALUATION}
    | {name for key, field in games.Game.model_fields.items() for name in (key, field.alias or key)}
)
_RAGELO_KEYS = frozenset(RageloGame.model_fields)


def queries_of(ragelo_games: Iterable[RageloGame], dropped: DroppedFields) -> list[QueryGames]:
    """Convert RAGElo's games to queries with sets of games by evaluator, in order of their appearance.

    The evaluator becomes the model, the exception the reason of an ungraded game, the raw answer the reply.
    Other keys are kept, except for keys that mean something else in games files, which are counted.
    """
    return _by_query(((game, None) for game in ragelo_games), dropped)


def _by_query(
    ragelo_games: Iterable[tuple[RageloGame, Literal[1, 2] | None]], dropped: DroppedFields
) -> list[QueryGames]:
    """Convert games, each with its order if the judge compared the answers in both."""
    by_query: dict[str, dict[str | None, list[games.Game]]] = {}
    for game, order in ragelo_games:
        converted = _game_of(game, dropped)
        if order is not None:
            converted = converted.model_copy(update={"order": order})
        by_query.setdefault(game.qid, {}).setdefault(game.evaluator_name, []).append(converted)
    return [
        QueryGames(query_id=query_id, game_sets=[_set_of(name, of_set) for name, of_set in sets.items()])
        for query_id, sets in by_query.items()
    ]


def _set_of(evaluator: str | None, of_set: list[games.Game]) -> GameSet:
    return GameSet(games=of_set) if evaluator is None else GameSet(model=evaluator, games=of_set)


def _game_of(game: RageloGame, dropped: DroppedFields) -> games.Game:
    extras = game.model_extra or {}
    for key in extras.keys() & _OWN_KEYS:
        dropped.field(key, extras[key] not in EMPTY)
    evaluation = (game.answer.model_extra if game.answer else None) or None
    values = {
        "winner": game.winner,
        "answer": game.raw_answer,
        "error": None if game.exception is None else {"failure_reason": game.exception},
        "relevance": game.relevance,
        EVALUATION: evaluation,
    }
    values = {key: value for key, value in values.items() if value is not None}
    values |= {key: value for key, value in extras.items() if key not in _OWN_KEYS}
    return games.Game(system_a=game.agent_a, system_b=game.agent_b, **values)


def _ragelo_games(
    queries: Iterable[QueryGames], dropped: DroppedFields, *, named: bool
) -> Iterator[RageloGame]:
    """Convert queries to RAGElo's games, with counts of the fields that RAGElo lacks.

    ``named`` is whether the format has names of evaluators, by which its reader makes sets of games.
    """
    distinct = DistinctNames()
    for query in queries:
        dropped.add("query texts", bool(query.query_text))
        dropped.keys(query.model_extra)
        sets = [of_judge for of_judge in query.game_sets if of_judge.games]
        dropped.add("sets of games without games", len(query.game_sets) - len(sets))
        dropped.add("queries without games", not sets)
        dropped.add(
            "boundaries of sets of games", len(sets) - len({s.model if named else None for s in sets})
        )
        for of_judge in sets:
            for key, value in (
                ("model options", of_judge.model_options),
                ("prompt descriptions", of_judge.prompt_info),
                ("prompt types", of_judge.prompt_type),
            ):
                dropped.add(key, value not in EMPTY)
            dropped.keys(of_judge.model_extra)
            for game in of_judge.games:
                agents = {"agent_a": distinct(game.a), "agent_b": distinct(game.b)}
                yield RageloGame(
                    qid=query.query_id, **agents, **_ragelo_fields(of_judge.model, game, dropped)
                )


def _ragelo_fields(model: str | None, game: games.Game, dropped: DroppedFields) -> dict[str, Any]:
    """The fields of RAGElo's game, other than the query and the agents."""
    for key in ("order", "decided_by", "words_a", "words_b", "tokens_cut", "comment"):
        dropped.field(key, getattr(game, key) not in EMPTY)
    dropped.add("repeats of systems", sum(repeat is not None for repeat in (game.repeat_a, game.repeat_b)))
    extras = game.model_extra or {}
    evaluation = extras.get(EVALUATION)
    known = {"relevance"} | ({EVALUATION} if isinstance(evaluation, dict) else set())
    for key in extras.keys() & _RAGELO_KEYS - known:
        dropped.field(key, extras[key] not in EMPTY)
    error = game.error or {}
    reason = error.get("failure_reason")
    dropped.add(
        "details of errors", sum(error[key] not in EMPTY for key in error.keys() - {"failure_reason"})
    )
    dropped.add("reasons of errors that are not text", reason is not None and not isinstance(reason, str))
    values: dict[str, Any] = {
        "evaluator_name": model,
        "exception": reason if isinstance(reason, str) else None,
        "raw_answer": game.answer,
        "relevance": extras.get("relevance"),
    }
    if isinstance(evaluation, dict):
        dropped.field("winner", "winner" in evaluation)
        values["answer"] = {key: value for key, value in evaluation.items() if key != "winner"}
    if game.winner is not None:
        values["answer"] = values.get("answer", {}) | {"winner": game.winner}
    values = {key: value for key, value in values.items() if value is not None}
    return values | {key: value for key, value in extras.items() if key not in _RAGELO_KEYS | known}


_ORDERS: Sequence[tuple[Literal[1, 2], str]] = ((1, "a_vs_b_result"), (2, "b_vs_a_result"))
"""The keys of a game for the two comparisons that led to its verdict."""


def _both_orders(path: Path) -> Iterator[tuple[RageloGame, Literal[1, 2]]]:
    """The two comparisons of each game, as games; raises :class:`DataError` for a game without them."""
    for game in read_game_lines(path):
        extras = game.model_extra or {}
        for order, key in _ORDERS:
            where = f"the game of {game.agent_a!r} and {game.agent_b!r} on the query {game.qid!r}, {key}"
            if not isinstance(extras.get(key), dict):
                raise DataError(f"{where}: is missing; use --from ragelo-games-jsonl.", file=str(path))
            yield valid(RageloGame.model_validate, extras[key], path, within=where), order


def _write_table(queries: Iterable[QueryGames], target: Target) -> None:
    def rows() -> Iterator[tuple[str, ...]]:
        for game in _ragelo_games(queries, target.dropped, named=False):
            target.dropped.add("names of graders", game.evaluator_name not in EMPTY)
            target.dropped.add("reasons of errors", bool(game.exception))
            target.dropped.keys(game.model_extra)
            target.dropped.keys(game.answer.model_extra if game.answer else None)
            relevance = "" if game.relevance is None else trimmed(str(game.relevance), target.dropped)
            structured = isinstance(game.relevance, bool | list | dict)
            target.dropped.add("relevance values that are neither text nor number", structured)
            raw = trimmed(game.raw_answer or "", target.dropped)
            yield game.qid, game.agent_a, game.agent_b, raw, game.winner or "", relevance

    columns = ("qid", "agent_a", "agent_b", "raw_answer", "answer", "relevance")
    write_cells(columns, rows(), target.path, ids=GAMES.ids, inputs=target.inputs)


register(
    csv_format(
        "ragelo-games", "games", "games between answers of RAGElo, CSV",
        with_columns("qid", "agent_a", "agent_b", "answer"), GAMES, games_of, "game", _write_table,
        content_of=lambda cells, path: queries_of(games_of(cells, path), DroppedFields()),
    ),
    Format(
        "ragelo-games-jsonl", "games", "games between answers of RAGElo, JSON lines",
        fits(_are_game_lines, Fit.CERTAIN), read_game_lines, "game",
        lambda source: queries_of(read_game_lines(source.path), source.dropped),
        lambda queries, target: write_records(
            _ragelo_games(queries, target.dropped, named=True), target.path, inputs=target.inputs
        ),
        schema=Schema("ragelo-games", "a line of games between answers of RAGElo", RageloGame),
    ),
    Format(
        "ragelo-orders-jsonl", "games", "both comparisons of each game of RAGElo, JSON lines",
        read=lambda source: _by_query(_both_orders(source.path), source.dropped),
        written_by="--to ragelo-games-jsonl",
    ),
)  # fmt: skip
