"""Uniting passages files: the shards of one grading, or several gradings of the same passages."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from exam_pp.data_model import GradesView, Passage, QueryPassages
from exam_pp.errors import DataError, SelectionError
from exam_pp.store.files import STDIO
from exam_pp.store.passages import passages_writer
from exam_pp.store.raw_json import RawJson, canonical, joined, list_of
from exam_pp.store.raw_passages import RawPassage, RawQuery, raw_query, read_raw_passages

Conflict = Literal["ratings", "rankings", "judgments", "other values"]

_LISTS = {
    ("exam_grades",),
    ("grades",),
    ("paragraph_data", "rankings"),
    ("paragraph_data", "judgments"),
}
"""The lists of a passage whose members are united."""


@dataclass
class Conflicts:
    """What files say differently of the same thing: how often, and the first place."""

    counts: Counter[Conflict] = field(default_factory=Counter)
    first: dict[Conflict, str] = field(default_factory=dict)

    def add(self, kind: Conflict, place: str) -> None:
        """Count one."""
        self.counts[kind] += 1
        self.first.setdefault(kind, place)

    def lines(self) -> Iterator[str]:
        """For people: what differs, and which of the values counts."""
        rules = {
            "ratings": "both are kept, and the later file's counts",
            "rankings": "both are kept",
            "judgments": "both are kept",
            "other values": "the first file's are kept",
        }
        for kind, count in self.counts.items():
            yield f"{count} {kind} differ between the files; {rules[kind]} (first: {self.first[kind]})."


@dataclass
class MergeSummary:
    """Counts for the closing line."""

    files: int = 0
    queries: int = 0
    passages: int = 0
    conflicts: Conflicts = field(default_factory=Conflicts)


def merge_files(
    files: Sequence[Path], output: Path, like: Path | None = None, *, strict: bool = False
) -> MergeSummary:
    """Unite passages files by query and passage into one.

    Grades, rankings and judgments of a passage are put one after the other in the order of the files,
    equal ones once; a passage without a text gets that of another file. What the files say differently is
    counted in the summary, and refused with ``strict``. Queries come in the order in which the files first
    name them; with ``like``, queries and passages come in the order of that file. Files are read side by
    side, so that only what comes early is held in memory. Raises :class:`DataError` for a passage id with
    two different texts, and where a query of ``like`` is in none of the files.
    """
    inputs = [*files, *([like] if like else [])]
    if any(str(path) == STDIO for path in inputs):
        raise SelectionError("Files that are merged are read twice: name files, not '-'.")
    parts = [_Part(path) for path in files]
    order = _order_of(parts, like)
    summary = MergeSummary(len(files))
    with passages_writer(output, inputs=inputs) as writer:
        for query_id, passage_order in order.items():
            query = _unite([(part.path, line) for part in parts for line in part.take(query_id)], summary)
            if passage_order:
                query.passages.sort(key=lambda p: passage_order.get(p.passage_id, len(passage_order)))
            writer.write(query)
            summary.queries += 1
            summary.passages += len(query.passages)
        if strict and summary.conflicts.counts:
            raise DataError(" ".join(summary.conflicts.lines()))
    return summary


class _Part:
    """One of the files: which queries it has, and each of them when it is asked for."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = Counter(query.query_id for query in read_raw_passages(path))
        self._queries = read_raw_passages(path)
        self._early: defaultdict[str, list[RawQuery]] = defaultdict(list)

    def take(self, query_id: str) -> list[RawQuery]:
        """The lines of a query (nearly always one, or none), read as far as needed."""
        while len(self._early[query_id]) < self.lines[query_id]:
            query = next(self._queries)
            self._early[query.query_id].append(query)
        return self._early.pop(query_id)


def _order_of(parts: Sequence[_Part], like: Path | None) -> dict[str, dict[str, int]]:
    """Query id to the places of its passages (empty: as they come)."""
    order: dict[str, dict[str, int]] = {}
    present = {query_id: None for part in parts for query_id in part.lines}
    for query in read_raw_passages(like) if like else ():
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


def unite_passages(query_id: str, found: Sequence[tuple[Path, QueryPassages]]) -> list[Passage]:
    """The passages of a query's lines, each with its file; one for every id, with all that they know.

    Raises :class:`DataError` for an id with two texts.
    """
    passages = [passage for _, line in found for passage in line.passages]
    if len({passage.passage_id for passage in passages}) == len(passages):
        return passages
    lines = [(path, raw_query(QueryPassages(query_id, line.passages), path)) for path, line in found]
    return [passage.full() for passage in _unite(lines, MergeSummary()).passages]


def _unite(found: Sequence[tuple[Path, RawQuery]], summary: MergeSummary) -> RawQuery:
    """One query of its lines, each with its file."""
    query = found[0][1]
    united: dict[str, tuple[Path, RawPassage]] = {}
    for path, line in found:
        for passage in line.passages:
            known_path, known = united.setdefault(passage.passage_id, (path, passage))
            if known is passage:
                continue
            if passage.text and known.text not in {"", passage.text}:
                raise DataError(
                    f"the passage {passage.passage_id!r} of query {query.query_id!r} has another text than "
                    f"in {known_path}.",
                    file=str(path),
                )
            _Pair(query.query_id, known, passage, summary.conflicts).unite()
    query.passages = [passage for _, passage in united.values()]
    return query


@dataclass(frozen=True)
class _Pair:
    """Two records of one passage, the second of which is to be added to the first."""

    query_id: str
    into: RawPassage
    other: RawPassage
    conflicts: Conflicts

    def unite(self) -> None:
        """Add what the other record knows and this one does not; the first file's values stay."""
        if not self.into.text:
            self.into.set_text(self.other.text)
        self._compare_grades()
        self._compare_data()
        for path, value in self.other.parts().items():
            if path not in {("paragraph_id",), ("text",)}:
                self._take(path, value)

    def _take(self, path: tuple[str, ...], new: RawJson) -> None:
        """Take over one value, or what is new in a list."""
        if path in _LISTS:
            self.into.change(path, lambda old: _union(old, new))
        else:
            self.into.change(path, lambda old: self._first(old, new, ".".join(path)))

    def _first(self, old: RawJson | None, new: RawJson, name: str) -> RawJson:
        if old is None or bytes(old) == b"null":
            return new
        if bytes(new) != b"null" and canonical(old) != canonical(new):
            self._report("other values", name)
        return old

    def _compare_grades(self) -> None:
        known = {}
        for grades in self.into.grade_sets():
            known.update(_ratings(grades))
        for grades in self.other.grade_sets():
            for key, rating in _ratings(grades).items():
                if known.get(key, rating) != rating:
                    self._report("ratings", f"{key[-1]!r}, {known[key]} and {rating} by {key[0]}")

    def _compare_data(self) -> None:
        ranks = {r.method: (r.rank, r.score) for r in self.into.rankings}
        for r in self.other.rankings:
            if ranks.get(r.method, (r.rank, r.score)) != (r.rank, r.score):
                self._report("rankings", f"ranks {ranks[r.method][0]} and {r.rank} by {r.method!r}")
        labels = {j.query_id: j.relevance for j in self.into.judgments}
        for j in self.other.judgments:
            if labels.get(j.query_id, j.relevance) != j.relevance:
                self._report("judgments", f"{labels[j.query_id]} and {j.relevance}")

    def _report(self, kind: Conflict, what: str) -> None:
        self.conflicts.add(kind, f"query {self.query_id!r}, passage {self.into.passage_id!r}: {what}")


def _ratings(grades: GradesView) -> dict[tuple[str | None, ...], int]:
    """Ratings by who gave them, with which words, to which entry."""
    made_by = (grades.model, grades.prompt_class, grades.prompt_hash)
    return {(*made_by, entry_id): rating for entry_id, rating in grades.entry_ratings().items()}


def _union(first: RawJson | None, second: RawJson) -> RawJson:
    """All members in order, equal ones once."""
    if first is None:
        return second
    known = list_of(first)
    members: dict[bytes, RawJson] = {}
    for value in [*known, *list_of(second)]:
        members.setdefault(canonical(value), value)
    return first if len(members) == len(known) else joined(members.values())
