"""Conversion: the CSV files that RAGElo reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from exam_pp.data_model import QueryPassages, RankingEntry
from exam_pp.phases.conversion.base import Source, Target, add_format
from exam_pp.phases.conversion.unsaid import answer_losses, passage_losses, query_losses
from exam_pp.store.answers import Answer
from exam_pp.store.queries import Query
from exam_pp.store.ragelo import (
    ANSWERS,
    DOCUMENTS,
    QUERIES,
    Cells,
    Column,
    answers_of,
    passages_of,
    queries_of,
    read_cells,
    write_cells,
)


def _reading(
    made: Callable[[Cells, Path], Any], required: Sequence[Column], optional: Sequence[Column] = ()
) -> Callable[[Source], Any]:
    def reader(source: Source) -> Any:
        cells = read_cells(source.path, required, optional)
        for name, count in cells.unused.items():
            source.losses.add(f"values of {name!r}", count)
        return made(cells, source.path)

    return reader


def _trimmed(text: str, target: Target) -> str:
    target.losses.add("white space around texts", text != text.strip())
    return text.strip()


def _write_queries(queries: Iterable[Query], target: Target) -> None:
    def rows() -> Iterator[tuple[str, str]]:
        for query in queries:
            query_losses(query, target.losses)
            yield query.query_id, _trimmed(query.query_text, target)

    write_cells(QUERIES, rows(), target.path, inputs=target.inputs)


def _write_answers(answers: Iterable[Answer], target: Target) -> None:
    def rows() -> Iterator[tuple[str, str, str]]:
        for answer in answers:
            answer_losses(answer, frozenset(), target.losses)
            text = " ".join(part.text for part in answer.parts)
            yield answer.query_id, answer.system, _trimmed(text, target)

    write_cells(ANSWERS, rows(), target.path, inputs=target.inputs)


def _write_documents(queries: Iterable[QueryPassages], target: Target) -> None:
    """A row for each system that returned the passage, those of a system in the order of its ranks.

    The order is all that is left of ranks and scores: reading counts the ranks from 1, the scores to 1.
    """

    def rows() -> Iterator[tuple[str, str, str, str]]:
        for query in queries:
            passage_losses(query, frozenset({"texts of passages", "places in rankings"}), target.losses)
            texts = {passage.passage_id: _trimmed(passage.text, target) for passage in query.passages}
            entries = [entry for passage in query.passages for entry in passage.rankings]
            by_system: dict[str, list[RankingEntry]] = {}
            for entry in sorted(entries, key=lambda entry: (entry.rank, -entry.score)):
                by_system.setdefault(entry.method, []).append(entry)
            for ranked in by_system.values():
                again = [(rank, float(len(ranked) - rank + 1)) for rank in range(1, len(ranked) + 1)]
                before = [(entry.rank, entry.score) for entry in ranked]
                lost = sum(one != other for one, other in zip(before, again, strict=True))
                target.losses.add("ranks or scores", lost)
                yield from ((query.query_id, e.passage_id, texts[e.passage_id], e.method) for e in ranked)
            returned = {entry.passage_id for entry in entries}
            yield from ((query.query_id, key, text, "") for key, text in texts.items() if key not in returned)

    write_cells((*DOCUMENTS, "agent"), rows(), target.path, inputs=target.inputs)


add_format(
    "ragelo-queries", "queries", "queries of RAGElo, CSV", _reading(queries_of, QUERIES), _write_queries
)
add_format(
    "ragelo-answers", "answers", "answers of RAGElo, CSV", _reading(answers_of, ANSWERS), _write_answers
)
add_format(
    "ragelo-documents", "passages", "retrieved documents of RAGElo, CSV",
    _reading(passages_of, DOCUMENTS, ("agent",)), _write_documents,
)  # fmt: skip
