"""Grades as bit masks: what every metric on rubric grades folds over.

A file is gathered once (:func:`gather`). Each passage then knows, for every grade, which bank entries
got it, as the bits of one integer: covering an entry is an OR, counting covered entries a popcount,
and another threshold needs no second look at the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import TYPE_CHECKING, TypeVar

import msgspec

from exam_pp.packed import PackedMapping

if TYPE_CHECKING:
    from exam_pp.data_model import GradesView, PassageView, QueryView
    from exam_pp.grade_filter import GradeSelector
    from exam_pp.test_bank import Entry, TestBank

N = TypeVar("N")

# JSON, because ranks and masks may be larger than the numbers of denser formats.
_PACKED = msgspec.json.Decoder(
    tuple[
        str,
        list[str],
        list[float] | None,
        list[tuple[str, dict[int, int], dict[int, Sequence[float]]]],
        dict[str, list[tuple[int, float, int]]],
        int,
        list[str],
    ]
)


@dataclass(slots=True)
class GradedPassage:
    """The grades of a passage. Bit ``i`` stands for entry ``i`` of its query.

    ``levels`` maps a grade to the mask of the entries that got it; it is empty for a passage without
    grades. ``soft`` maps an entry's bit position to the
    probabilities of the grades 0, 1, 2 ..., where those were asked for.
    """

    passage_id: str
    levels: dict[int, int] = field(default_factory=dict)
    soft: dict[int, Sequence[float]] = field(default_factory=dict)

    def grade(self, ratings: Mapping[str, int], positions: Mapping[str, int]) -> None:
        """Give entries (by id) their grades, in place of those they may have."""
        levels = self.levels
        if levels:
            for entry_id in ratings:
                self._forget(1 << positions[entry_id])
        for entry_id, grade in ratings.items():
            levels[grade] = levels.get(grade, 0) | 1 << positions[entry_id]

    def _forget(self, bit: int) -> None:
        for grade, mask in self.levels.items():
            if mask & bit:
                self.levels[grade] = mask & ~bit
                if mask == bit:
                    del self.levels[grade]
                return

    def reaching(self, min_grade: int) -> int:
        """Mask of the entries graded at least ``min_grade``."""
        mask = 0
        for grade, entries in self.levels.items():
            if grade >= min_grade:
                mask |= entries
        return mask

    @property
    def graded(self) -> int:
        """Mask of the entries that have a grade."""
        mask = 0
        for entries in self.levels.values():
            mask |= entries
        return mask

    @property
    def ratings(self) -> list[int]:
        """The grades of all graded entries, best first."""
        return [
            grade
            for grade in sorted(self.levels, reverse=True)
            for _ in range(self.levels[grade].bit_count())
        ]

    @property
    def best_grade(self) -> int | None:
        """The highest grade over all entries; None without any grade."""
        return max(self.levels, default=None)


@dataclass(slots=True)
class GradedQuery:
    """A query's entries, passages and rankings.

    ``entries`` maps entry ids to bit positions, ``asked`` is the mask of entries that some passage has
    a grade for, ``foreign`` holds graded ids that the bank does not have. ``rankings`` lists, for each
    system, ``(rank, -score, index of the passage)``.
    """

    query_id: str
    entries: dict[str, int]
    weights: Sequence[float] | None = None
    passages: list[GradedPassage] = field(default_factory=list)
    rankings: dict[str, list[tuple[int, float, int]]] = field(default_factory=dict)
    asked: int = 0
    foreign: set[str] = field(default_factory=set)
    _index: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _tops: dict[tuple[str, int, int], list[int]] = field(default_factory=dict, init=False, repr=False)
    _reached: dict[int, list[int]] = field(default_factory=dict, init=False, repr=False)

    def top(self, system: str, first_rank: int, cutoff: int) -> list[int]:
        """Indices of the passages that a system has within the cutoff, best first.

        These are the passages of rank below ``first_rank + cutoff``, at most ``cutoff`` of them, by
        rank, then score, then file order. Ranks that the file does not hold stay empty; a passage
        that is listed twice counts once.
        """
        known = self._tops.get((system, first_rank, cutoff))
        if known is not None:
            return known
        chosen: dict[int, None] = {}
        places = self.rankings.get(system, ())
        for _, _, index in sorted(place for place in places if place[0] < first_rank + cutoff):
            if len(chosen) == cutoff:
                break
            chosen.setdefault(index)
        return self._tops.setdefault((system, first_rank, cutoff), list(chosen))

    def reached(self, min_grade: int) -> list[int]:
        """For every passage the mask of the entries that it reaches ``min_grade`` for."""
        known = self._reached.get(min_grade)
        if known is None:
            known = self._reached[min_grade] = [passage.reaching(min_grade) for passage in self.passages]
        return known

    def size(self, mask: int) -> float:
        """How many entries the mask holds; with weights, their total weight."""
        if self.weights is None:
            return mask.bit_count()
        return fsum(weight for bit, weight in enumerate(self.weights) if mask >> bit & 1)

    @property
    def everything(self) -> int:
        """Mask of all entries."""
        return (1 << len(self.entries)) - 1

    def add(self, passage: PassageView, grades: list[GradesView], *, soft: bool, closed: bool) -> None:
        """Take a passage, its selected grades and its rankings.

        ``closed`` means that the entries are those of a bank, so that other ids are foreign.
        A passage id that was seen before is the same passage: later grades of an entry win.
        """
        index = self._index.setdefault(passage.passage_id, len(self.passages))
        if index == len(self.passages):
            self.passages.append(GradedPassage(passage.passage_id))
        graded = self.passages[index]
        for grade_set in grades:
            ratings = self._known(grade_set.entry_ratings(), closed)
            graded.grade(ratings, self.entries)
            if soft:
                for entry_id in ratings:  # graded anew: probabilities of before are of another grade
                    graded.soft.pop(self.entries[entry_id], None)
                found = self._known(grade_set.distributions(), closed)
                graded.soft.update((self.entries[entry_id], values) for entry_id, values in found.items())
        for mask in graded.levels.values():
            self.asked |= mask
        self._tops.clear()
        self._reached.clear()
        for ranking in passage.rankings:
            self.rankings.setdefault(ranking.method, []).append((ranking.rank, -ranking.score, index))

    def pack(self) -> bytes:
        """Everything, for :meth:`unpack`."""
        passages = [(passage.passage_id, passage.levels, passage.soft) for passage in self.passages]
        return msgspec.json.encode(
            (
                self.query_id,
                list(self.entries),
                self.weights,
                passages,
                self.rankings,
                self.asked,
                sorted(self.foreign),
            )
        )

    @classmethod
    def unpack(cls, data: bytes) -> GradedQuery:
        """A query that was packed."""
        query_id, entries, weights, packed, rankings, asked, foreign = _PACKED.decode(data)
        passages = [GradedPassage(*passage) for passage in packed]
        positions = {entry_id: position for position, entry_id in enumerate(entries)}
        query = cls(query_id, positions, weights, passages, rankings, asked, set(foreign))
        query._index = {passage.passage_id: index for index, passage in enumerate(passages)}
        return query

    def _known(self, values: Mapping[str, N], closed: bool) -> Mapping[str, N]:
        """The values of the query's entries; ids that are new become entries, or are foreign."""
        if self.entries.keys() >= values.keys():
            return values
        unknown = [entry_id for entry_id in values if entry_id not in self.entries]
        if closed:
            self.foreign.update(unknown)
            return {entry_id: value for entry_id, value in values.items() if entry_id in self.entries}
        for entry_id in unknown:
            self.entries[entry_id] = len(self.entries)
        return values


def _packed_queries() -> PackedMapping[GradedQuery]:
    return PackedMapping(GradedQuery.pack, GradedQuery.unpack)


@dataclass
class GradedFile:
    """All queries of a file, and the rank with which each system starts counting (0 or 1).

    Queries are unpacked when they are looked at, so that a file of any length fits into memory.
    """

    queries: MutableMapping[str, GradedQuery] = field(default_factory=_packed_queries)
    first_ranks: dict[str, int] = field(default_factory=dict)
    soft_found: bool = False
    graded: dict[str, None] = field(default_factory=dict)
    """The queries with a grade for one of their entries, in order."""
    best_grade: int | None = None
    """The highest grade of all."""
    never_asked: dict[str, list[str]] = field(default_factory=dict)
    """By query, the entries that no passage has a grade for; queries without any are left out."""
    foreign: dict[str, list[str]] = field(default_factory=dict)
    """By query, the graded ids that the bank does not have."""
    ungraded: dict[str, int] = field(default_factory=dict)
    """By query, how many of its passages have no grade; queries without any are left out."""

    def add(self, query: GradedQuery) -> None:
        """Put a query, or put it again after a change, and note what it says about the file."""
        for system, places in query.rankings.items():
            first = self.first_ranks.get(system, 1)
            self.first_ranks[system] = 0 if first and min(places)[0] == 0 else first
        grades = [passage.best_grade for passage in query.passages]
        self.ungraded.pop(query.query_id, None)
        if missing := grades.count(None):
            self.ungraded[query.query_id] = missing
        known = [grade for grade in (self.best_grade, *grades) if grade is not None]
        self.best_grade = max(known, default=None)
        if query.asked:
            self.graded[query.query_id] = None
        never = [entry for entry, position in query.entries.items() if not query.asked >> position & 1]
        for found, ids in ((self.never_asked, never), (self.foreign, sorted(query.foreign))):
            found.pop(query.query_id, None)
            if ids:
                found[query.query_id] = ids
        self.queries[query.query_id] = query


def gather(
    queries: Iterable[QueryView], selector: GradeSelector, bank: TestBank | None = None, *, soft: bool = False
) -> GradedFile:
    """Read the queries once.

    Args:
        queries: The file's lines; a query on several lines is united.
        selector: Which grades of a passage to look at; the caller runs its ``check`` afterwards.
        bank: Fixes each query's entries; without it, they are the ids that the selected grades hold.
        soft: Also keep the probabilities of grades.
    """
    file = GradedFile()
    for view in queries:
        query = file.queries.get(view.query_id)
        if query is None:
            query = _empty(view.query_id, bank)
        for passage in view.passages:
            grades = selector.select(passage)
            query.add(passage, grades, soft=soft, closed=bank is not None)
            if soft and not file.soft_found:
                file.soft_found = any(grade_set.distributions() for grade_set in grades)
        file.add(query)
    return file


def _empty(query_id: str, bank: TestBank | None) -> GradedQuery:
    entries: Mapping[str, Entry] = bank.entries(query_id) if bank is not None else {}
    weights = [entry.weight for entry in entries.values()]
    return GradedQuery(
        query_id,
        {entry_id: position for position, entry_id in enumerate(entries)},
        weights if any(weight != 1 for weight in weights) else None,
    )
