"""Games between answers of two systems, from RAGElo's pairwise evaluator, as CSV and JSON lines.

CSV: ``qid, agent_a, agent_b, raw_answer, answer, relevance``; ``raw_answer`` and ``relevance`` are optional
columns. JSON lines: ``qid, agent_a, agent_b, evaluator_name, exception, raw_answer, answer {winner, ...}``.
Winners are ``A``, ``B``, or ``C`` for a tie.
The results of an experiment (``NAME_results.jsonl``) also have lines on documents and answers, and ratings.
The records here are RAGElo's; readers return the queries of games files (:mod:`exam_pp.games`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import model_validator

from exam_pp import games
from exam_pp.data_model import DirectGrade, Id, Passage, PassageData, QueryPassages, RankingEntry
from exam_pp.errors import DataError
from exam_pp.formats.base import Format, Schema, Target, csv_format, register
from exam_pp.formats.dropped_fields import (
    EMPTY,
    DroppedFields,
    count_dropped_passage_fields,
    count_dropped_ranking_fields,
    trimmed,
)
from exam_pp.formats.sample import Fit, Sample, fits, with_columns
from exam_pp.formats.scores import one_measure, read_leaderboard
from exam_pp.formats.tables import DOCUMENTS, RAGELO_IDS, RAGELO_NAMES
from exam_pp.games import GameSet, QueryGames
from exam_pp.metrics.leaderboard import standings
from exam_pp.models import Record
from exam_pp.prompts.reading import NOT_A_LABEL
from exam_pp.prompts.reasoner import find_relevance_label
from exam_pp.results import Score
from exam_pp.roles import DistinctNames, System, is_part_of_answer
from exam_pp.store.csv_cells import checked_id, write_cells
from exam_pp.store.files import read_lines
from exam_pp.store.parsing import parse_record, valid, write_records
from exam_pp.store.tables import Cells, Layout

REASONINGS = Layout(("qid", "did", "raw_answer", "answer"), (), ("qid", "did"), RAGELO_NAMES)


def _are_documents(sample: Sample) -> bool:
    """Whether a table has the columns of documents, those of ids by any of their names."""
    ids = all(sample.columns & {name, *RAGELO_NAMES[name]} for name in RAGELO_IDS)
    return ids and "document" in sample.columns


class Reasoning(NamedTuple):
    """An evaluator's rating of a document: the reply, and the answer that RAGElo read from it."""

    query_id: str
    passage_id: str
    raw_answer: str
    answer: str


def passages_of(cells: Cells, path: str | Path) -> list[QueryPassages]:
    """Parse documents. The rows of an agent are its ranking, best first; scores count down to 1.

    Raises :class:`DataError` for a document with two texts, and for a document that an agent has twice.
    """
    queries: dict[str, dict[str, Passage]] = {}
    totals = Counter((row["qid"], row.get("agent")) for _, row in cells)
    ranks: Counter[tuple[str, str | None]] = Counter()
    for line, row in cells:
        qid, did, agent = row["qid"], row["did"], row.get("agent")
        passages = queries.setdefault(qid, {})
        new = Passage(passage_id=did, text=row["document"], data=PassageData(judgments=[], rankings=[]))
        passage = passages.setdefault(did, new)
        if passage.text != row["document"]:
            raise DataError(
                f"the document {did!r} has another text on an earlier line.", file=str(path), line=line
            )
        if not agent:
            continue
        if any(ranking.method == agent for ranking in passage.rankings):
            problem = f"the agent {agent!r} has the document {did!r} twice for the query {qid!r}."
            raise DataError(problem, file=str(path), line=line)
        ranks[qid, agent] += 1
        rank = ranks[qid, agent]
        score = float(totals[qid, agent] - rank + 1)
        passage.data.rankings.append(
            RankingEntry(method=agent, passage_id=did, query_id=qid, rank=rank, score=score)
        )
    return [QueryPassages(qid, list(passages.values())) for qid, passages in queries.items()]


def reasonings_of(cells: Cells, path: str | Path) -> list[Reasoning]:
    """Parse reasonings; raises :class:`DataError` for a document that occurs twice for a query."""
    seen: set[tuple[str, str]] = set()
    reasonings: list[Reasoning] = []
    for line, row in cells:
        reasoning = Reasoning(row["qid"], row["did"], row["raw_answer"], row["answer"])
        if reasoning[:2] in seen:
            problem = f"the document {row['did']!r} occurs twice for the query {row['qid']!r}."
            raise DataError(problem, file=str(path), line=line)
        seen.add(reasoning[:2])
        reasonings.append(reasoning)
    return reasonings


EVALUATOR = "ReasonerEvaluator"
"""RAGElo's evaluator that writes reasonings. It is recorded as the model, which the files do not name."""


def _write_documents(queries: Iterable[QueryPassages], target: Target) -> None:
    """Write a row for each passage and system that ranks it, in the order of the system's ranks.

    Only the order is kept: a reader numbers the ranks from 1 and sets scores that count down to 1.
    """
    distinct = DistinctNames()

    def rows() -> Iterator[tuple[str, str, str, str]]:
        for query in queries:
            count_dropped_passage_fields(
                query, frozenset({"passage texts", "ranking entries"}), target.dropped
            )
            for passage in query.passages:
                count_dropped_ranking_fields(query.query_id, passage, target.dropped)
                target.dropped.add("parts of answers", is_part_of_answer(passage))
            for system, ranked in _ranked(query).items():
                after = [(rank, float(len(ranked) - rank + 1)) for rank in range(1, len(ranked) + 1)]
                before = [(entry.rank, entry.score) for entry, _ in ranked.values()]
                changed = sum(a != b for a, b in zip(before, after, strict=True))
                target.dropped.add("original ranks or scores", changed)
                for passage_id, (_, passage) in ranked.items():
                    yield (
                        query.query_id,
                        passage_id,
                        trimmed(passage.text, target.dropped),
                        checked_id(distinct(system)),
                    )
            for passage in query.passages:
                if not passage.rankings:
                    text = trimmed(passage.text, target.dropped)
                    yield query.query_id, passage.passage_id, text, ""

    write_cells((*DOCUMENTS.required, "agent"), rows(), target.path, ids=RAGELO_IDS, inputs=target.inputs)


def _ranked(query: QueryPassages) -> dict[System, dict[str, tuple[RankingEntry, Passage]]]:
    """System to its passages, best first, each at its best rank."""
    entries = [
        (entry, passage) for passage in query.passages for entry in passage.rankings if entry.role != "answer"
    ]
    systems: dict[System, dict[str, tuple[RankingEntry, Passage]]] = {}
    for entry, passage in sorted(entries, key=lambda pair: (pair[0].rank, -pair[0].score)):
        systems.setdefault(System.of(entry), {}).setdefault(passage.passage_id, (entry, passage))
    return systems


def _rating(answer: str) -> int | None:
    """The number, as other evaluators reply, or the rating of the label; None if the text has neither."""
    if answer.isascii() and answer.isdecimal():
        return int(answer)
    return find_relevance_label(answer)


def _grade(raw_answer: str, answer: str) -> DirectGrade:
    """A direct grade; ungraded if the answer is neither a label nor a number."""
    rating = _rating(answer or raw_answer)
    reply = raw_answer or answer
    grade: dict[str, Any] = {
        "correct": bool(rating),
        "answer": reply,
        "model": EVALUATOR,
        "model_options": {},
        "prompt_info": {"prompt_class": EVALUATOR, "is_self_rated": True},
        "prompt_type": "direct_grading",
    }
    if rating is None:
        return DirectGrade(**grade, error={"response": reply, "prompt": "", "failure_reason": NOT_A_LABEL})
    return DirectGrade(**grade, self_ratings=rating, relevance_label=rating)


def _graded(cells: Cells, path: str | Path) -> list[QueryPassages]:
    """The documents with direct grades, without their texts."""
    queries: dict[str, list[Passage]] = {}
    for reasoning in reasonings_of(cells, path):
        grade = _grade(reasoning.raw_answer, reasoning.answer)
        passage = Passage(passage_id=reasoning.passage_id, text="", direct_grades=[grade])
        queries.setdefault(reasoning.query_id, []).append(passage)
    return [QueryPassages(query_id, passages) for query_id, passages in queries.items()]


def _write_ranking(scores: Iterable[Score], target: Target) -> None:
    """Write the means of one measure, best first, under the name ``score``."""
    scores = one_measure(scores, "score", target.dropped)
    rows = sorted(standings(scores), key=lambda row: -row.mean)
    cells = ((row.system, repr(row.mean).removesuffix(".0")) for row in rows)
    write_cells(("agent", "score"), cells, target.path, ids=("agent",), inputs=target.inputs)


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


def _ragelo_games(queries: Iterable[QueryGames], dropped: DroppedFields) -> Iterator[RageloGame]:
    """Convert queries to RAGElo's games, with counts of the fields that RAGElo lacks."""
    distinct = DistinctNames()
    for query in queries:
        dropped.add("query texts", bool(query.query_text))
        dropped.keys(query.model_extra)
        sets = [of_judge for of_judge in query.game_sets if of_judge.games]
        dropped.add("sets of games without games", len(query.game_sets) - len(sets))
        dropped.add("queries without games", not sets)
        dropped.add("boundaries of sets of games", len(sets) - len({of_judge.model for of_judge in sets}))
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


register(
    csv_format(
        "ragelo-documents", "passages", "retrieved documents of RAGElo, CSV",
        fits(_are_documents, Fit.FAIR), DOCUMENTS, passages_of, "query",
        _write_documents,
    ),
    csv_format(
        "ragelo-reasonings", "passages", "RAGElo's reasonings on documents, CSV",
        with_columns("qid", "did", "raw_answer", "answer"), REASONINGS, reasonings_of, "document",
        content_of=_graded,
    ),
    Format(
        "ragelo-ranking", "scores", "ranking of agents of RAGElo, CSV",
        read=read_leaderboard, write=_write_ranking,
    ),
    csv_format(
        "ragelo-games", "games", "games between answers of RAGElo, CSV",
        with_columns("qid", "agent_a", "agent_b", "answer"), GAMES, games_of, "game",
        content_of=lambda cells, path: queries_of(games_of(cells, path), DroppedFields()),
        written_by="--to ragelo-games-jsonl",
    ),
    Format(
        "ragelo-games-jsonl", "games", "games between answers of RAGElo, JSON lines",
        fits(_are_game_lines, Fit.CERTAIN), read_game_lines, "game",
        lambda source: queries_of(read_game_lines(source.path), source.dropped),
        lambda queries, target: write_records(
            _ragelo_games(queries, target.dropped), target.path, inputs=target.inputs
        ),
        schema=Schema("ragelo-games", "a line of games between answers of RAGElo", RageloGame),
    ),
    Format(
        "ragelo-orders-jsonl", "games", "both comparisons of each game of RAGElo, JSON lines",
        read=lambda source: _by_query(_both_orders(source.path), source.dropped),
        written_by="--to ragelo-games-jsonl",
    ),
)  # fmt: skip
