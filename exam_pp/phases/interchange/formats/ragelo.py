"""Conversion: the CSV files that RAGElo reads, and what it writes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from exam_pp.data_model import DIRECT_ID, DirectGrade, Passage, QueryPassages, RankingEntry
from exam_pp.errors import SelectionError
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.interchange.dropped_fields import (
    answer_losses,
    passage_losses,
    query_losses,
    ranking_losses,
    trimmed,
)
from exam_pp.phases.interchange.formats.base import Source, Target, add_format, reading
from exam_pp.phases.interchange.formats.scores import one_measure, read_table
from exam_pp.prompts.reading import NOT_A_LABEL
from exam_pp.results import Score
from exam_pp.store.csv_cells import Cells, Layout, checked_id, read_cells, write_cells
from exam_pp.store.interchange.ragelo import (
    ANSWERS,
    DOCUMENTS,
    IDS,
    QUERIES,
    REASONINGS,
    answers_of,
    passages_of,
    queries_of,
    reasonings_of,
)
from exam_pp.store.interchange.ragelo_games import COLUMNS, GAMES, Game, games_of, read_game_lines
from exam_pp.store.json_lines import write_records
from exam_pp.store.trec.answers import Answer
from exam_pp.store.trec.queries import Query

EVALUATOR = "ReasonerEvaluator"
"""RAGElo's name for the evaluator that writes reasonings: what graded, as long as its model is not said."""

# The paper's appendix A.1: the reply begins with one of three labels. Other evaluators give numbers.
_LABELS = {"not relevant": 0, "somewhat relevant": 1, "very relevant": 2}
_LABEL = re.compile(rf"\W*({'|'.join(_LABELS)})\b", re.IGNORECASE)


def _reading(made: Callable[[Cells, Path], Any], layout: Layout) -> Callable[[Source], Any]:
    def reader(source: Source) -> Any:
        cells = read_cells(source.path, layout)
        for name, count in cells.unused.items():
            source.losses.add(f"values of {name!r}", count)
        return made(cells, source.path)

    return reader


def _write_queries(queries: Iterable[Query], target: Target) -> None:
    def rows() -> Iterator[tuple[str, str]]:
        for query in queries:
            query_losses(query, target.losses)
            yield query.query_id, trimmed(query.query_text, target.losses)

    write_cells(QUERIES.required, rows(), target.path, ids=IDS, inputs=target.inputs)


def _write_answers(answers: Iterable[Answer], target: Target) -> None:
    def rows() -> Iterator[tuple[str, str, str]]:
        for answer in answers:
            answer_losses(answer, frozenset(), target.losses)
            text = " ".join(part.text for part in answer.parts)
            yield answer.query_id, answer.system, trimmed(text, target.losses)

    write_cells(ANSWERS.required, rows(), target.path, ids=(*IDS, "agent"), inputs=target.inputs)


def _write_documents(queries: Iterable[QueryPassages], target: Target) -> None:
    """A row for each system that returned the passage, those of a system in the order of its ranks.

    The order is all that is left of ranks and scores: reading counts the ranks from 1, the scores to 1.
    """

    def rows() -> Iterator[tuple[str, str, str, str]]:
        for query in queries:
            passage_losses(query, frozenset({"texts of passages", "places in rankings"}), target.losses)
            for passage in query.passages:
                ranking_losses(query.query_id, passage, target.losses)
            for system, ranked in _ranked(query).items():
                again = [(rank, float(len(ranked) - rank + 1)) for rank in range(1, len(ranked) + 1)]
                before = [(entry.rank, entry.score) for entry, _ in ranked.values()]
                lost = sum(one != other for one, other in zip(before, again, strict=True))
                target.losses.add("ranks or scores", lost)
                for passage_id, (_, passage) in ranked.items():
                    yield query.query_id, passage_id, trimmed(passage.text, target.losses), checked_id(system)
            for passage in query.passages:
                if not passage.rankings:
                    text = trimmed(passage.text, target.losses)
                    yield query.query_id, passage.passage_id, text, ""

    write_cells((*DOCUMENTS.required, "agent"), rows(), target.path, ids=IDS, inputs=target.inputs)


def _ranked(query: QueryPassages) -> dict[str, dict[str, tuple[RankingEntry, Passage]]]:
    """System to its passages, best first, each at its best place."""
    places = [(entry, passage) for passage in query.passages for entry in passage.rankings]
    systems: dict[str, dict[str, tuple[RankingEntry, Passage]]] = {}
    for entry, passage in sorted(places, key=lambda place: (place[0].rank, -place[0].score)):
        systems.setdefault(entry.method, {}).setdefault(passage.passage_id, (entry, passage))
    return systems


def _rating(answer: str) -> int | None:
    if answer.isdecimal():
        return int(answer)
    label = _LABEL.match(answer)
    return _LABELS[label[1].lower()] if label else None


def _grade(raw_answer: str, answer: str) -> DirectGrade:
    """A direct grade; what is no label and no number is ungraded."""
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


def _read_reasonings(cells: Cells, path: Path) -> list[QueryPassages]:
    """The documents, without their texts, with direct grades."""
    queries: dict[str, list[Passage]] = {}
    for reasoning in reasonings_of(cells, path):
        grade = _grade(reasoning.raw_answer, reasoning.answer)
        passage = Passage(passage_id=reasoning.passage_id, text="", direct_grades=[grade])
        queries.setdefault(reasoning.query_id, []).append(passage)
    return [QueryPassages(query_id, passages) for query_id, passages in queries.items()]


def _write_reasonings(queries: Iterable[QueryPassages], target: Target) -> None:
    """The first direct grade of every passage; its rating is written where the reply does not say it.

    Raises :class:`SelectionError` where there are none.
    """
    seen: set[tuple[str, str]] = set()

    def rows() -> Iterator[tuple[str, str, str, str]]:
        for query in queries:
            passage_losses(query, frozenset({"texts of passages", "sets of grades"}), target.losses)
            for passage in query.passages:
                target.losses.add("texts of passages", bool(passage.text))
                grades = list(passage.grade_sets())
                direct = next((grade for grade in grades if isinstance(grade, DirectGrade)), None)
                target.losses.add("sets of grades", len(grades) - (direct is not None))
                if direct is None:
                    target.losses.add("passages without a direct grade")
                    continue
                if (query.query_id, passage.passage_id) in seen:
                    target.losses.add("further passages of an id")
                    continue
                seen.add((query.query_id, passage.passage_id))
                raw = trimmed(direct.answer or "", target.losses)
                rating = direct.entry_ratings().get(DIRECT_ID)
                told = raw if rating is None or _rating(raw) == rating else str(rating)
                again = _grade(raw, told)
                changed = again.entry_ratings() != direct.entry_ratings()
                target.losses.add("failures of grades", changed)
                more = again.model_dump(exclude_none=True) != direct.model_dump(exclude_none=True)
                target.losses.add("what grades say beside rating and reply", more and not changed)
                yield query.query_id, passage.passage_id, raw, told

        if not seen:
            raise SelectionError("RAGElo's reasonings are direct grades, and the passages have none.")

    write_cells(REASONINGS.required, rows(), target.path, ids=IDS, inputs=target.inputs)


def _write_games(games: Iterable[Game], target: Target) -> None:
    def rows() -> Iterator[tuple[str, ...]]:
        for game in games:
            target.losses.add("names of evaluators", bool(game.evaluator_name))
            target.losses.add("errors of evaluators", bool(game.exception))
            target.losses.keys(game.model_extra)
            target.losses.keys(game.answer.model_extra if game.answer else None)
            relevance = "" if game.relevance is None else trimmed(str(game.relevance), target.losses)
            structured = isinstance(game.relevance, bool | list | dict)
            target.losses.add("relevance that is no text and no number", structured)
            raw = trimmed(game.raw_answer or "", target.losses)
            yield game.qid, game.agent_a, game.agent_b, raw, game.winner or "", relevance

    write_cells(COLUMNS, rows(), target.path, ids=IDS, inputs=target.inputs)


def _write_game_lines(games: Iterable[Game], target: Target) -> None:
    write_records(games, target.path, inputs=target.inputs)


def _write_ranking(scores: Iterable[Score], target: Target) -> None:
    """The means of one measure, best first, under the name ``score``."""
    scores = one_measure(scores, "score", target.losses)
    rows = sorted(standings(scores), key=lambda row: -row.mean)
    cells = ((row.system, repr(row.mean).removesuffix(".0")) for row in rows)
    write_cells(("agent", "score"), cells, target.path, ids=("agent",), inputs=target.inputs)


add_format(
    "ragelo-queries", "queries", "queries of RAGElo, CSV", _reading(queries_of, QUERIES), _write_queries
)
add_format(
    "ragelo-answers", "answers", "answers of RAGElo, CSV", _reading(answers_of, ANSWERS), _write_answers
)
add_format(
    "ragelo-documents", "passages", "retrieved documents of RAGElo, CSV",
    _reading(passages_of, DOCUMENTS), _write_documents,
)  # fmt: skip
add_format(
    "ragelo-reasonings", "passages", "what RAGElo says of documents, CSV",
    _reading(_read_reasonings, REASONINGS), _write_reasonings,
)  # fmt: skip
add_format(
    "ragelo-games", "games", "games between answers of RAGElo, CSV", _reading(games_of, GAMES), _write_games
)
add_format(
    "ragelo-games-jsonl", "games", "games between answers of RAGElo, JSON lines",
    reading(read_game_lines), _write_game_lines,
)  # fmt: skip
add_format("ragelo-ranking", "scores", "ranking of RAGElo's agents, CSV", read_table, _write_ranking)
