"""Uniting passages files: the shards of one grading, or several gradings of the same passages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from exam_pp.data_model import Passage, QueryPassages, Record
from exam_pp.errors import DataError, SelectionError
from exam_pp.store.files import STDIO
from exam_pp.store.passages import passages_writer, read_passages, read_passages_for_metrics

R = TypeVar("R", bound=Record)


@dataclass
class MergeSummary:
    """Counts for the closing line."""

    files: int = 0
    queries: int = 0
    passages: int = 0


def merge_files(files: Sequence[Path], output: Path, like: Path | None = None) -> MergeSummary:
    """Unite passages files by query and passage into one.

    Grades, rankings and judgments of a passage are put one after the other in the order of the files,
    equal ones once. Queries come in the order in which the files first name them; with ``like``, queries
    and passages come in the order of that file. Files are read side by side, so that only what comes
    early is held in memory. Raises :class:`DataError` for a passage id with two different texts, and where
    a query of ``like`` is in none of the files.
    """
    inputs = [*files, *([like] if like else [])]
    if any(str(path) == STDIO for path in inputs):
        raise SelectionError("Files that are merged are read twice: name files, not '-'.")
    parts = [_Part(path) for path in files]
    order = _order_of(parts, like)
    summary = MergeSummary(len(files))
    with passages_writer(output, inputs=inputs) as writer:
        for query_id, passage_order in order.items():
            found = [(part.path, query) for part in parts for query in part.take(query_id)]
            query = QueryPassages(query_id, unite_passages(query_id, found))
            if passage_order:
                query.passages.sort(key=lambda p: passage_order.get(p.passage_id, len(passage_order)))
            writer.write(query)
            summary.queries += 1
            summary.passages += len(query.passages)
    return summary


class _Part:
    """One of the files: which queries it has, and each of them when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = Counter(query.query_id for query in read_passages_for_metrics(path))
        self._queries = read_passages(path)
        self._early: defaultdict[str, list[QueryPassages]] = defaultdict(list)

    def take(self, query_id: str) -> list[QueryPassages]:
        """The lines of a query (nearly always one, or none), read as far as needed."""
        while len(self._early[query_id]) < self.lines[query_id]:
            query = next(self._queries)
            self._early[query.query_id].append(query)
        return self._early.pop(query_id)


def _order_of(parts: Sequence[_Part], like: Path | None) -> dict[str, dict[str, int]]:
    """Query id to the places of its passages (empty: as they come)."""
    order: dict[str, dict[str, int]] = {}
    present = {query_id: None for part in parts for query_id in part.lines}
    for query in read_passages_for_metrics(like) if like else ():
        places = order.setdefault(query.query_id, {})
        for passage in query.passages:
            places.setdefault(passage.passage_id, len(places))
    missing = [query_id for query_id in order if query_id not in present]
    if missing:
        raise DataError(
            f"{len(missing)} of its queries are in none of the files that are merged (the first is "
            f"{missing[0]!r}); is a shard missing?",
            file=str(like),
        )
    return order | {query_id: {} for query_id in present if query_id not in order}


def unite_passages(query_id: str, found: Iterable[tuple[Path, QueryPassages]]) -> list[Passage]:
    """The passages of a query's lines, each with its file; one for every id, with all that they know.

    Raises :class:`DataError` for an id with two texts.
    """
    united: dict[str, tuple[Path, Passage]] = {}
    for path, query in found:
        for passage in query.passages:
            known = united.setdefault(passage.passage_id, (path, passage))
            if known[1] is passage:
                continue
            if known[1].text != passage.text:
                raise DataError(
                    f"the passage {passage.passage_id!r} of query {query_id!r} has another text than in "
                    f"{known[0]}.",
                    file=str(path),
                )
            _unite(known[1], passage)
    return [passage for _, passage in united.values()]


def _unite(into: Passage, other: Passage) -> None:
    """Add what the other record knows and this one does not; the first file's values stay."""
    for key, value in (other.model_extra or {}).items():
        if key not in (into.model_extra or {}):
            setattr(into, key, value)
    if into.paragraph is None and other.paragraph is not None:
        into.paragraph = other.paragraph
    # Lists are assigned, so that those which a file left out are written.
    if other.judgments:
        into.data.judgments = _union(into.judgments, other.judgments)
    if other.rankings:
        into.data.rankings = _union(into.rankings, other.rankings)
    if "data" not in into.model_fields_set and "data" in other.model_fields_set:
        into.data = into.data
    if other.rubric_grades:
        into.rubric_grades = _union(into.rubric_grades or (), other.rubric_grades)
    if other.direct_grades:
        into.direct_grades = _union(into.direct_grades or (), other.direct_grades)


def _union(first: Iterable[R], second: Iterable[R]) -> list[R]:
    """All records in order, equal ones once."""
    return list(_distinct([*first, *second]))


def _distinct(records: Iterable[R]) -> Iterator[R]:
    seen: set[str] = set()
    for record in records:
        content = record.model_dump_json(by_alias=True, exclude_unset=True)
        if content not in seen:
            seen.add(content)
            yield record
