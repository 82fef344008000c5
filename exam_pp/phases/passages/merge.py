"""Merging of passages files: shards of a grading run, gradings of the same passages."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from exam_pp.data_model import BeyondPool, FullRanking, Passage, PassageView, QueryPassages
from exam_pp.errors import DataError
from exam_pp.games import QueryGames
from exam_pp.grade_filter import GradeKey
from exam_pp.phases.passages.transform import NO_QUERIES
from exam_pp.records import replace
from exam_pp.splicing import (
    RawJson,
    canonical,
    decode_list,
    encode_list,
)
from exam_pp.store.inputs import reading
from exam_pp.store.passages.graded_file import passages_writer
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery, raw_query, read_raw_passages
from exam_pp.text.wording import counted

log = logging.getLogger(__name__)

Q = TypeVar("Q", RawQuery, QueryGames)

Conflict = Literal["rating", "ranking", "judgment", "text", "other value"]

_RULES: Mapping[Conflict, str] = {
    "rating": "Both are kept; the rating of the later file counts",
    "ranking": "Both are kept",
    "judgment": "Both are kept",
    "text": "Only whitespace differs, and the text of the first file is kept",
    "other value": "The value of the first file is kept",
}
"""How each kind of conflict is resolved, as part of a message."""

_MERGED_LISTS = {
    ("exam_grades",),
    ("grades",),
    ("consistency_grades",),
    ("support_grades",),
    ("criteria_grades",),
    ("paragraph_data", "rankings"),
    ("paragraph_data", "judgments"),
}
"""The lists of a passage that are concatenated without duplicates."""


@dataclass
class Conflicts:
    """Counts of values that differ between the files, by kind, with the first location of each kind."""

    counts: Counter[Conflict] = field(default_factory=Counter)
    first: dict[Conflict, str] = field(default_factory=dict)

    def add(self, kind: Conflict, location: str) -> None:
        """Count a conflict."""
        self.counts[kind] += 1
        self.first.setdefault(kind, location)

    def lines(self) -> Iterator[str]:
        """Yield a message for each kind of conflict, with the rule that resolves it."""
        for kind, count in self.counts.items():
            differ = counted(count, f"{kind} differs", f"{kind}s differ")
            yield f"{differ} between the files. {_RULES[kind]} (first: {self.first[kind]})."


@dataclass
class MergeSummary:
    """Counts for the summary."""

    files: int = 0
    queries: int = 0
    passages: int = 0
    conflicts: Conflicts = field(default_factory=Conflicts)


@reading()
def merge_files(
    files: Sequence[Path],
    output: Path,
    like: Path | None = None,
    *,
    strict: bool = False,
) -> MergeSummary:
    """Merge passages files by query and passage id.

    Grades, rankings and judgments of a passage are concatenated in the order of the files, without
    duplicates; a passage without a text gets the text of another file. Queries and passages are in the order
    of ``like``, or without it in the order of their first occurrence. All files are open at the same time;
    memory is needed only for queries whose order differs between the files.

    Raises :class:`DataError` for a passage id with texts that differ in more than whitespace, a query of
    ``like`` that no file has, and with ``strict`` for any conflict; conflicts are otherwise counted in the
    summary.
    """
    parts = [MergedFile(path, read_raw_passages) for path in files]
    positions: dict[str, dict[str, int]] = {}
    for query in read_raw_passages(like) if like else ():
        of_query = positions.setdefault(query.query_id, {})
        for passage in query.passages:
            of_query.setdefault(passage.passage_id, len(of_query))
    order = order_of(parts, like, positions)
    summary = MergeSummary(len(files))
    with passages_writer(output, inputs=[*files, *([like] if like else [])]) as writer:
        for query_id in order:
            query = _merge_lines(
                [(part.path, line) for part in parts for line in part.take(query_id)], summary
            )
            if passage_order := positions.get(query_id):
                query.passages.sort(key=lambda p: passage_order.get(p.passage_id, len(passage_order)))
            writer.write(query)
            summary.queries += 1
            summary.passages += len(query.passages)
        if strict and summary.conflicts.counts:
            raise DataError(" ".join(summary.conflicts.lines()))
    return summary


class MergedFile(Generic[Q]):
    """One of the input files, with random access to its queries; ``lines`` counts the lines of each."""

    def __init__(self, path: Path, read: Callable[[Path], Iterator[Q]]) -> None:
        self.path = path
        self.lines = Counter(query.query_id for query in read(path))
        self._queries: Iterator[Q] = read(path)
        self._pending: defaultdict[str, list[Q]] = defaultdict(list)
        if not self.lines:
            log.warning(NO_QUERIES, path)

    def take(self, query_id: str) -> list[Q]:
        """Read on until all lines of the query are known, and return them; empty if the file lacks it."""
        while len(self._pending[query_id]) < self.lines[query_id]:
            query = next(self._queries)
            self._pending[query.query_id].append(query)
        return self._pending.pop(query_id)


def order_of(parts: Sequence[MergedFile[Any]], like: Path | None, queries: Iterable[str]) -> list[str]:
    """The query ids in output order: first ``queries``, which are those of ``like``.

    Raises :class:`DataError` if ``like`` has no queries, or one that no part has.
    """
    order = dict.fromkeys(queries)
    present = dict.fromkeys(query_id for part in parts for query_id in part.lines)
    if like and not order:
        raise DataError("has no queries, so it gives no order: name the file that was split.", file=str(like))
    if missing := [query_id for query_id in order if query_id not in present]:
        raise DataError(
            f"{counted(len(missing), 'query of this file is', 'queries of this file are')} in none of the "
            f"merged files (first: {missing[0]!r}). Check that no shard is missing.",
            file=str(like),
        )
    return [*(order | present)]


def merge_passages(query_id: str, lines: Sequence[tuple[Path, QueryPassages]]) -> list[Passage]:
    """Merge the passages of several lines of a query, each with its file, by passage id.

    Raises :class:`DataError` for an id with two texts.
    """
    passages = [passage for _, line in lines for passage in line.passages]
    if len({passage.passage_id for passage in passages}) == len(passages):
        return passages
    raw = [(path, raw_query(QueryPassages(query_id, line.passages), path)) for path, line in lines]
    return [passage.full() for passage in _merge_lines(raw, MergeSummary()).passages]


def _merge_lines(lines: Sequence[tuple[Path, RawQuery]], summary: MergeSummary) -> RawQuery:
    """Merge several lines of a query, each with its file."""
    query = lines[0][1]
    merged: dict[str, tuple[Path, RawPassage]] = {}
    beyond = [found for _, line in lines if (found := line.beyond_pool) is not None]
    for _, line in lines[1:] if beyond else ():
        line.set_beyond_pool(None)
    for path, line in lines:
        for passage in line.passages:
            first_path, first = merged.setdefault(passage.passage_id, (path, passage))
            if first is passage:
                continue
            _check_texts(first, passage, summary, query.query_id, first_path, path)
            _Pair(query.query_id, first, passage, summary.conflicts).merge()
    query.passages = [passage for _, passage in merged.values()]
    if beyond:
        union = _merged_beyond(query.query_id, beyond, summary.conflicts)
        outside = []
        for judgment in union.judgments:
            if judgment.passage_id not in merged:
                outside.append(judgment)
            elif judgment not in merged[judgment.passage_id][1].judgments:
                merged[judgment.passage_id][1].add("judgments", [judgment])
        union = replace(union, judgments=outside)
        if union != query.beyond_pool:
            query.set_beyond_pool(union)
    return query


def _merged_beyond(query_id: str, parts: Sequence[BeyondPool], conflicts: Conflicts) -> BeyondPool:
    """All judgments and rankings beyond the pools of several files; of conflicting rankings the first."""
    rankings: dict[tuple[str, str], FullRanking] = {}
    for ranking in (ranking for part in parts for ranking in part.rankings):
        first = rankings.setdefault((ranking.method, ranking.query_id), ranking)
        if first != ranking:
            conflicts.add("other value", f"query {query_id!r}, the full ranking of {ranking.method!r}")
    judgments = {(j.passage_id, j.query_id, j.relevance): j for part in parts for j in part.judgments}
    return BeyondPool(judgments=list(judgments.values()), rankings=list(rankings.values()))


def _check_texts(
    first: RawPassage, second: RawPassage, summary: MergeSummary, query_id: str, first_path: Path, path: Path
) -> None:
    """Raise :class:`DataError` for two texts of a passage, and count those that differ in whitespace."""
    if not second.text or first.text in {"", second.text}:
        return
    if first.text.split() == second.text.split():
        where = f"query {query_id!r}, passage {first.passage_id!r} in {path}"
        summary.conflicts.add("text", where)
        return
    raise DataError(
        f"the text of passage {first.passage_id!r} of query {query_id!r} differs from that in {first_path} "
        "in more than whitespace; merge only files of the same version of the passages.",
        file=str(path),
    )


@dataclass(frozen=True)
class _Pair:
    """Two records of a passage, of which ``second`` is merged into ``first``."""

    query_id: str
    first: RawPassage
    second: RawPassage
    conflicts: Conflicts

    def merge(self) -> None:
        """Add the values that the first record lacks; of conflicting values, the first is kept."""
        if not self.first.text:
            self.first.set_text(self.second.text)
        versions = _versions(self.first, self.second)
        before, later = _ratings(self.first, versions), _ratings(self.second, versions)
        self._compare_ratings(before, later)
        self._compare_data()
        for path, value in self.second.parts().items():
            if path not in {("paragraph_id",), ("text",)}:
                self._add(path, value)
        if not later.items() <= _ratings(self.first, versions).items():
            self._move_to_end()

    def _add(self, path: tuple[str, ...], new: RawJson) -> None:
        """Add a value, or the new elements of a list."""
        if path in _MERGED_LISTS:
            self.first.change(path, lambda old: _union(old, new))
        elif path == ("paragraph_data",):  # empty in the second record, so not a conflict
            self.first.change(path, lambda old: new if old is None else old)
        else:
            self.first.change(path, lambda old: self._first_value(old, new, ".".join(path)))

    def _first_value(self, old: RawJson | None, new: RawJson, name: str) -> RawJson:
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
        """Count rankings and judgments that differ from those of the first record.

        Contradictions within a file are not counted; `exam-pp validate` reports them.
        """
        ranks = defaultdict(list)
        for r in self.first.rankings:
            ranks[r.method, r.query_id, r.role, r.repeat].append((r.rank, r.score))
        for r in self.second.rankings:
            first_ranks = ranks.get((r.method, r.query_id, r.role, r.repeat))
            if first_ranks and (r.rank, r.score) not in first_ranks:
                self._report("ranking", f"ranks {first_ranks[0][0]} and {r.rank} by {r.method!r}")
        labels = defaultdict(list)
        for j in self.first.judgments:
            labels[j.query_id].append(j.relevance)
        for j in self.second.judgments:
            levels = labels.get(j.query_id)
            if levels and j.relevance not in levels:
                self._report("judgment", f"{levels[0]} and {j.relevance}")

    def _move_to_end(self) -> None:
        """Move the second record's sets of grades to the end, where their ratings count.

        Needed if the first record has some of these sets, followed by sets with other ratings.
        """
        for name in ("exam_grades", "grades"):
            if new := self.second.fields.get(name):
                self.first.change([name], partial(_with_moved_to_end, new))

    def _report(self, kind: Conflict, difference: str) -> None:
        self.conflicts.add(kind, f"query {self.query_id!r}, passage {self.first.passage_id!r}: {difference}")


class _Rated(NamedTuple):
    """A grader and the rated entry; ``version`` is None unless there are several versions of the prompt."""

    key: GradeKey
    version: str | None
    entry_id: str


def _versions(*passages: PassageView) -> dict[GradeKey, set[str]]:
    """Return the prompt hashes by grader; a set of grades without a hash matches every version."""
    versions: defaultdict[GradeKey, set[str]] = defaultdict(set)
    for passage in passages:
        for grades in passage.grade_sets():
            versions[GradeKey.of(grades)] |= {grades.prompt_hash} if grades.prompt_hash else set()
    return versions


def _ratings(passage: PassageView, versions: Mapping[GradeKey, set[str]]) -> dict[_Rated, int]:
    """Return the last rating of each grader and entry, which is the one that counts."""
    ratings = {}
    for grades in passage.grade_sets():
        key = GradeKey.of(grades)
        version = grades.prompt_hash if len(versions[key]) > 1 else None
        for entry_id, rating in grades.entry_ratings().items():
            ratings[_Rated(key, version, entry_id)] = rating
    return ratings


def _union(first: RawJson | None, second: RawJson) -> RawJson:
    """Concatenate two lists without duplicates; returns ``first`` unchanged if it has all elements."""
    if first is None:
        return second
    members, added = _distinct(first), _distinct(second)
    if added.keys() <= members.keys():
        return first
    return encode_list(
        (members | {key: value for key, value in added.items() if key not in members}).values()
    )


def _with_moved_to_end(last: RawJson, merged: RawJson | None) -> RawJson:
    """Return the merged list with the elements of ``last`` at its end."""
    moved = _distinct(last)
    before = [value for key, value in _distinct(merged).items() if key not in moved]
    return encode_list([*before, *moved.values()])


def _distinct(values: RawJson | None) -> dict[bytes, RawJson]:
    """Return the elements of a list by content; of duplicates the last, because the last rating counts."""
    members: dict[bytes, RawJson] = {}
    for value in decode_list(values):
        key = canonical(value)
        members.pop(key, None)
        members[key] = value
    return members
