"""Uniting passages files: the shards of one grading, or several gradings of the same passages."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple

from exam_pp.data_model import Passage, PassageView, QueryPassages
from exam_pp.errors import DataError, SelectionError
from exam_pp.grade_filter import GradeKey
from exam_pp.store.files import is_stream
from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.store.passages.raw_json import RawJson, canonical, joined, list_of
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery, raw_query, read_raw_passages
from exam_pp.wording import counted

log = logging.getLogger(__name__)

Conflict = Literal["rating", "ranking", "judgment", "other value"]

_RULES: Mapping[Conflict, str] = {
    "rating": "both are kept, and the later file's counts",
    "ranking": "both are kept",
    "judgment": "both are kept",
    "other value": "the first file's is kept",
}
"""Which of two values counts."""

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
        for kind, count in self.counts.items():
            differ = counted(count, f"{kind} differs", f"{kind}s differ")
            yield f"{differ} between the files; {_RULES[kind]} (first: {self.first[kind]})."


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
    if streams := [path for path in inputs if is_stream(path)]:
        raise SelectionError(f"Files that are merged are read twice: name a file, not {str(streams[0])!r}.")
    parts = [_Part(path) for path in files]
    for part in parts:
        if not part.lines:
            log.warning("%s holds no queries, as a shard of fewer queries than shards.", part.path)
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
            f"{counted(len(missing), 'of its queries is', 'of its queries are')} in none of the files that "
            f"are merged (the first is {missing[0]!r}); is a shard missing?",
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
        versions = _versions(self.into, self.other)
        before, later = _ratings(self.into, versions), _ratings(self.other, versions)
        self._compare_ratings(before, later)
        self._compare_data()
        for path, value in self.other.parts().items():
            if path not in {("paragraph_id",), ("text",)}:
                self._take(path, value)
        if not later.items() <= _ratings(self.into, versions).items():
            self._put_last()

    def _take(self, path: tuple[str, ...], new: RawJson) -> None:
        """Take over one value, or what is new in a list."""
        if path in _LISTS:
            self.into.change(path, lambda old: _union(old, new))
        elif path == (
            "paragraph_data",
        ):  # without anything inside: what is known already contradicts nothing
            self.into.change(path, lambda old: new if old is None else old)
        else:
            self.into.change(path, lambda old: self._first(old, new, ".".join(path)))

    def _first(self, old: RawJson | None, new: RawJson, name: str) -> RawJson:
        if old is None or bytes(old) == b"null":
            return new
        if bytes(new) != b"null" and canonical(old) != canonical(new):
            self._report("other value", name)
        return old

    def _compare_ratings(self, before: Mapping[_Rated, int], later: Mapping[_Rated, int]) -> None:
        for slot, rating in later.items():
            if before.get(slot, rating) != rating:
                self._report("rating", f"{slot.entry_id!r}, {before[slot]} and {rating} by {slot.key.model}")

    def _compare_data(self) -> None:
        """A file that contradicts itself is `exam-pp validate`'s business: here only what is new counts."""
        places = defaultdict(list)
        for r in self.into.rankings:
            places[r.method, r.query_id].append((r.rank, r.score))
        for r in self.other.rankings:
            known = places.get((r.method, r.query_id))
            if known and (r.rank, r.score) not in known:
                self._report("ranking", f"ranks {known[0][0]} and {r.rank} by {r.method!r}")
        labels = defaultdict(list)
        for j in self.into.judgments:
            labels[j.query_id].append(j.relevance)
        for j in self.other.judgments:
            levels = labels.get(j.query_id)
            if levels and j.relevance not in levels:
                self._report("judgment", f"{levels[0]} and {j.relevance}")

    def _put_last(self) -> None:
        """Put the other's sets of grades behind the rest: this record had some of them, and later ones."""
        for name in ("exam_grades", "grades"):
            if new := self.other.fields.get(name):
                self.into.change([name], partial(_with_last, new))

    def _report(self, kind: Conflict, what: str) -> None:
        self.conflicts.add(kind, f"query {self.query_id!r}, passage {self.into.passage_id!r}: {what}")


class _Rated(NamedTuple):
    """What was rated, by whom; ``version`` where there are several of the prompt's words."""

    key: GradeKey
    version: str | None
    entry_id: str


def _versions(*passages: PassageView) -> dict[GradeKey, set[str]]:
    """The hashes of the prompts' words; a set of grades without one is of any, as for all who read grades."""
    found: defaultdict[GradeKey, set[str]] = defaultdict(set)
    for passage in passages:
        for grades in passage.grade_sets():
            found[GradeKey.of(grades)] |= {grades.prompt_hash} if grades.prompt_hash else set()
    return found


def _ratings(passage: PassageView, versions: Mapping[GradeKey, set[str]]) -> dict[_Rated, int]:
    """The ratings that count: of several of an entry the last."""
    found = {}
    for grades in passage.grade_sets():
        key = GradeKey.of(grades)
        version = grades.prompt_hash if len(versions[key]) > 1 else None
        for entry_id, rating in grades.entry_ratings().items():
            found[_Rated(key, version, entry_id)] = rating
    return found


def _union(first: RawJson | None, second: RawJson) -> RawJson:
    """All members in order, equal ones once; the first list as it is if it has all of them."""
    if first is None:
        return second
    members, more = _distinct(first), _distinct(second)
    if more.keys() <= members.keys():
        return first
    return joined((members | {key: value for key, value in more.items() if key not in members}).values())


def _with_last(last: RawJson, united: RawJson | None) -> RawJson:
    """A list with the members that are in ``last``, too, behind the others."""
    behind = _distinct(last)
    before = [value for key, value in _distinct(united).items() if key not in behind]
    return joined([*before, *behind.values()])


def _distinct(values: RawJson | None) -> dict[bytes, RawJson]:
    """The members of a list by content; equal ones once, in the last place, as the last rating counts."""
    members: dict[bytes, RawJson] = {}
    for value in list_of(values):
        key = canonical(value)
        members.pop(key, None)
        members[key] = value
    return members
