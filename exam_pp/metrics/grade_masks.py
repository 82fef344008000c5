"""Grades as bit masks, the input of all metrics on rubric grades.

:func:`gather` reads a file once. Each passage then has, for every grade, the bank entries with that grade
as the bits of an integer: the union of covered entries is an OR, their number a popcount, and another
threshold does not need another pass over the file.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from exam_pp.banks import LABEL_RATINGS
from exam_pp.data_model import is_human
from exam_pp.defaults import CUTOFF
from exam_pp.llm_requests import LOW_MASS
from exam_pp.metrics.measures import CONTRADICTS, Weights, union
from exam_pp.roles import role_of

if TYPE_CHECKING:
    from exam_pp.banks import Entry, EntryKind, TestBank
    from exam_pp.data_model import AnyGrades, PassageView, QueryView
    from exam_pp.grade_filter import GradeSelector

N = TypeVar("N")

_OF_LABELS = frozenset(LABEL_RATINGS.values())
"""The ratings that stand for labels of nuggets; others label nothing."""


class DefaultCutoff(int):
    """The depth of an evaluation if users name none: it limits rankings, and all parts of an answer count."""


@dataclass(slots=True)
class GradedPassage:
    """The grades of a passage. Bit ``i`` of a mask is entry ``i`` of the query.

    ``levels`` maps a grade to the mask of the entries with that grade; it is empty for a passage without
    grades. ``soft`` maps the bit position of an entry to the probabilities of the grades 0, 1, 2 ..., if
    :func:`gather` was called with ``soft``. ``by_people`` is the mask of the entries that people rated.
    """

    passage_id: str
    levels: dict[int, int] = field(default_factory=dict)
    soft: dict[int, Sequence[float]] = field(default_factory=dict)
    by_people: int = 0

    def grade(self, ratings: Mapping[str, int], positions: Mapping[str, int]) -> None:
        """Set the grades of entries (by id), replacing earlier ones."""
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
        return union(entries for grade, entries in self.levels.items() if grade >= min_grade)

    @property
    def graded(self) -> int:
        """Mask of the entries that have a grade."""
        return union(self.levels.values())

    @property
    def ratings(self) -> list[int]:
        """The grades of all graded entries, best first."""
        return self.ratings_of(None)

    def ratings_of(self, among: int | None) -> list[int]:
        """The grades of the graded entries in the mask ``among``, best first; None stands for all entries."""
        return [
            grade
            for grade in sorted(self.levels, reverse=True)
            for _ in range((self.levels[grade] if among is None else self.levels[grade] & among).bit_count())
        ]

    @property
    def best_grade(self) -> int | None:
        """The highest grade over all entries; None for a passage without grades."""
        return max(self.levels, default=None)


@dataclass(slots=True)
class GradedQuery:
    """A query's entries, passages and rankings.

    ``entries`` maps entry ids to bit positions. ``asked`` is the mask of entries with a grade for at least
    one passage. ``foreign`` are graded ids that are not in the bank. ``rankings`` lists, for each system,
    ``(rank, -score, index of the passage)``, in order once a :class:`GradedFile` has the query; those of
    ``answering`` are the parts of an answer. ``copies`` maps the id of an entry to the entries with this id
    in the bank, if each of these counts.
    """

    query_id: str
    entries: dict[str, int]
    weights: Weights = field(default_factory=Weights)
    passages: list[GradedPassage] = field(default_factory=list)
    rankings: dict[str, list[tuple[int, float, int]]] = field(default_factory=dict)
    asked: int = 0
    foreign: set[str] = field(default_factory=set)
    answering: set[str] = field(default_factory=set)
    copies: dict[str, list[str]] | None = None
    _empty: list[tuple[str, GradedPassage]] = field(default_factory=list, init=False, repr=False)
    _blank: set[int] = field(default_factory=set, init=False, repr=False)
    _index: dict[str, int] = field(default_factory=dict, init=False, repr=False)
    _tops: dict[tuple[str, int, int], list[int]] = field(default_factory=dict, init=False, repr=False)
    _reached: dict[int, list[int]] = field(default_factory=dict, init=False, repr=False)

    def top(self, system: str, first_rank: int, cutoff: int) -> list[int]:
        """Indices of a system's passages within the cutoff, best first.

        These are the passages with a rank below ``first_rank + cutoff``, at most ``cutoff`` of them, by
        rank, then score, then file order; of an answer, all parts are within a :class:`DefaultCutoff`. Ranks
        that are missing from the file stay empty. A passage that is listed twice counts once.
        """
        if isinstance(cutoff, DefaultCutoff) and system in self.answering:
            cutoff = sys.maxsize
        known = self._tops.get((system, first_rank, cutoff))
        if known is not None:
            return known
        chosen: dict[int, None] = {}
        ranking = self.rankings.get(system, ())
        for rank, _, index in ranking:
            if len(chosen) == cutoff or rank >= first_rank + cutoff:
                break
            chosen.setdefault(index)
        return self._tops.setdefault((system, first_rank, cutoff), list(chosen))

    def reached(self, min_grade: int) -> list[int]:
        """For every passage the mask of the entries graded at least ``min_grade``."""
        known = self._reached.get(min_grade)
        if known is None:
            known = self._reached[min_grade] = [passage.reaching(min_grade) for passage in self.passages]
        return known

    def size(self, mask: int) -> float:
        """Number of entries in the mask, or their total weight if entries have weights."""
        return self.weights.size(mask)

    def found(self, top: Sequence[int], grades: Sequence[int], *, by_people: bool = False) -> dict[int, int]:
        """Grade to the mask of the entries that any of the passages ``top`` reaches.

        An entry that one of them contradicts is not reached. ``by_people``: Only what people rated counts.
        """
        of = {index: self.passages[index].by_people if by_people else -1 for index in top}
        against = union(self.passages[index].levels.get(CONTRADICTS, 0) & of[index] for index in top)
        found = {
            grade: union(self.reached(grade)[index] & of[index] for index in top) & ~against
            for grade in grades
        }
        return found | ({CONTRADICTS: against} if CONTRADICTS in found else {})

    @property
    def all_entries(self) -> int:
        """Mask of all entries."""
        return (1 << len(self.entries)) - 1

    def add(
        self, passage: PassageView, grades: list[AnyGrades], *, soft: bool, closed: bool, ranks: bool = True
    ) -> None:
        """Add a passage, its selected grades and, with ``ranks``, its rankings.

        With ``closed``, the entries are those of a bank, and other ids are collected in ``foreign``. If the
        passage id occurred before, the grades are merged: later grades of an entry win.
        """
        index = self._index.setdefault(passage.passage_id, len(self.passages))
        if index == len(self.passages):
            self.passages.append(GradedPassage(passage.passage_id))
        graded = self.passages[index]
        for grade_set in grades:
            rated = grade_set.entry_ratings() if self.copies is None else copy_ratings(grade_set, self.copies)
            ratings = self._known(rated, closed)
            graded.grade(ratings, self.entries)
            if is_human(grade_set.model):
                graded.by_people |= sum(1 << self.entries[entry_id] for entry_id in ratings)
            if soft:
                for entry_id in ratings:  # the old probabilities belong to the replaced grade
                    graded.soft.pop(self.entries[entry_id], None)
                distributions = self._known(grade_set.distributions(), closed)
                graded.soft.update(
                    (self.entries[entry_id], values) for entry_id, values in distributions.items()
                )
        self.asked |= graded.graded
        self._tops.clear()
        self._reached.clear()
        # Ids of answers have a slash; without one, thousands of roles need no look.
        may_answer = "/" in passage.passage_id
        for ranking in passage.rankings if ranks else ():
            self.rankings.setdefault(ranking.method, []).append((ranking.rank, -ranking.score, index))
            if (may_answer or ranking.role) and role_of(
                self.query_id, passage.passage_id, ranking
            ) == "answer":
                self.answering.add(ranking.method)
                if not (graded.levels or passage.text.strip()):
                    self._empty.append((ranking.method, graded))
        if not passage.text.strip():
            self._blank.add(index)

    def cover_nothing(self) -> Iterable[str]:
        """Give empty answers, which have nothing to ask a model about, the lowest grades; their systems."""
        for _, graded in self._empty:
            graded.grade(dict.fromkeys(self.entries, 0), self.entries)
        # Nobody is asked about an empty text.
        for index in self.without_text:
            graded = self.passages[index]
            graded.by_people |= self.all_entries & ~graded.reaching(1)
        return {system for system, _ in self._empty}

    @property
    def without_text(self) -> set[int]:
        """The indices of the passages with an empty text; in files without texts, all passages have one."""
        return self._blank if len(self._blank) < len(self.passages) else set()

    def _known(self, values: Mapping[str, N], closed: bool) -> Mapping[str, N]:
        """The values of the query's entries; unknown ids become entries, or foreign if ``closed``."""
        if self.entries.keys() >= values.keys():
            return values
        unknown = [entry_id for entry_id in values if entry_id not in self.entries]
        if closed:
            self.foreign.update(unknown)
            return {entry_id: value for entry_id, value in values.items() if entry_id in self.entries}
        for entry_id in unknown:
            self.entries[entry_id] = len(self.entries)
        return values


@dataclass
class GradedFile:
    """All queries of a file, and the first rank of each system (0 or 1)."""

    queries: dict[str, GradedQuery] = field(default_factory=dict)
    first_ranks: dict[str, int] = field(default_factory=dict)
    last_ranks: dict[str, int] = field(default_factory=dict)
    """The highest rank of each system over all queries."""
    longest: dict[str, int] = field(default_factory=dict)
    """The largest number of passages in a ranking of each system."""
    answering: set[str] = field(default_factory=set)
    """The systems whose rankings are the parts of answers."""
    empty_answers: dict[tuple[str, str], None] = field(default_factory=dict)  # of a system to a query
    pool_depth: int = CUTOFF
    """The smallest number of pooled ranks of each run, at most :data:`CUTOFF`."""
    has_soft_grades: bool = False
    soft_grades: int = 0
    """The number of soft grades with a recorded mass."""
    low_masses: int = 0
    """The number of these with a mass below :data:`LOW_MASS`."""
    graded: dict[str, None] = field(default_factory=dict)
    """The queries with at least one grade, in order."""
    best_grade: int | None = None
    """The highest grade in the file."""
    ungraded_entries: dict[str, list[str]] = field(default_factory=dict)
    """Query to its entries without a grade for any passage; other queries have no key."""
    foreign: dict[str, list[str]] = field(default_factory=dict)
    """Query to the graded ids that are not in the bank."""
    ungraded: dict[str, int] = field(default_factory=dict)
    """Query to the number of its passages without a grade; other queries have no key."""

    @property
    def depth(self) -> int:
        """The highest rank of any system, counted from 1 for its first rank; 0 without rankings."""
        return self._depth(self.last_ranks)

    def _depth(self, systems: Iterable[str]) -> int:
        ends = (self.last_ranks[system] + 1 - self.first_ranks[system] for system in systems)
        # A ranking with ties may have more passages than ranks.
        return max(0, *(self.longest[system] for system in systems), *ends, 0)

    @property
    def cutoff(self) -> DefaultCutoff:
        """The default depth of evaluations: the highest rank of the file, of rankings that is pooled.

        In a file of answers only, it is the number of parts of the longest one.
        """
        rankings = self.last_ranks.keys() - self.answering
        return DefaultCutoff(
            min(self._depth(rankings), self.pool_depth) if rankings else self._depth(self.answering) or CUTOFF
        )

    def add(self, query: GradedQuery) -> None:
        """Add a query, or replace it after a change, and update the statistics of the file."""
        for system, ranking in query.rankings.items():
            ranking.sort()
            first = self.first_ranks.get(system, 1)
            self.first_ranks[system] = 0 if first and ranking[0][0] == 0 else first
            self.last_ranks[system] = max(self.last_ranks.get(system, 0), ranking[-1][0])
            self.longest[system] = max(self.longest.get(system, 0), len({index for _, _, index in ranking}))
        self.answering |= query.answering
        grades = [passage.best_grade for passage in query.passages]
        self.ungraded.pop(query.query_id, None)
        if missing := grades.count(None):
            self.ungraded[query.query_id] = missing
        known = [grade for grade in (self.best_grade, *grades) if grade is not None]
        self.best_grade = max(known, default=None)
        if query.asked:
            self.graded[query.query_id] = None
        without_grades = [
            entry for entry, position in query.entries.items() if not query.asked >> position & 1
        ]
        for ids_by_query, ids in (
            (self.ungraded_entries, without_grades),
            (self.foreign, sorted(query.foreign)),
        ):
            ids_by_query.pop(query.query_id, None)
            if ids:
                ids_by_query[query.query_id] = ids
        self.queries[query.query_id] = query


def ids_of_copies(entries: Mapping[str, Entry]) -> dict[str, list[str]]:
    """Entry id to the keys of the entries with this id."""
    copies: dict[str, list[str]] = {}
    for key, entry in entries.items():
        copies.setdefault(entry.entry_id, []).append(key)
    return copies


def copy_ratings(grades: AnyGrades, copies: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Nugget id to rating; the n-th of its ``copies`` has its n-th label, or the last."""
    labels: dict[str, list[int | None]] = {}
    for nugget_id, label in grades.nugget_labels() or ():
        labels.setdefault(nugget_id, []).append(LABEL_RATINGS.get(label))
    if grades.nugget_labels() is None:
        rated = grades.entry_ratings().items()
        labels = {nugget_id: [rating] for nugget_id, rating in rated if rating in _OF_LABELS}
    ratings = {
        copy: of_nugget[min(number, len(of_nugget) - 1)]
        for nugget_id, of_nugget in labels.items()
        for number, copy in enumerate(copies.get(nugget_id, (nugget_id,)))
    }
    return {copy: rating for copy, rating in ratings.items() if rating is not None}


def gather(
    queries: Iterable[QueryView],
    selector: GradeSelector,
    bank: TestBank | None = None,
    *,
    soft: bool = False,
    kind: EntryKind | None = None,
    ranks: bool = True,
    each_copy: bool = False,
) -> GradedFile:
    """Read all queries once and return their grades as bit masks.

    ``bank``: Defines the entries of each query. None: the ids of the selected grades. ``soft``: Also keep the
    probabilities of grades. ``kind``: Use only entries of this kind of a bank that has both kinds. None: all
    entries. ``ranks``: Also keep the rankings, which take half of the time with many systems. ``each_copy``:
    Every copy of a nugget in the bank counts, and has a label of its own. Returns the graded file, with all
    queries, including those without grades.
    """
    file = GradedFile()
    for view in queries:
        query = file.queries.get(view.query_id) or _empty(view.query_id, bank, kind, each_copy)
        for passage in view.passages:
            grades = selector.select(passage)
            file.pool_depth = min(file.pool_depth, passage.pool_depth or CUTOFF)
            query.add(passage, grades, soft=soft, closed=bank is not None, ranks=ranks)
            for grade_set in grades if soft else ():
                file.has_soft_grades = file.has_soft_grades or bool(grade_set.distributions())
                masses = grade_set.masses().values()
                file.soft_grades += len(masses)
                file.low_masses += sum(mass < LOW_MASS for mass in masses)
        file.empty_answers |= dict.fromkeys((system, view.query_id) for system in query.cover_nothing())
        file.add(query)
    return file


def _empty(query_id: str, bank: TestBank | None, kind: EntryKind | None, each_copy: bool) -> GradedQuery:
    entries: Mapping[str, Entry] = {}
    if bank is not None:
        entries = bank.copies.get(query_id, {}) if each_copy else bank.entries(query_id)
    if kind is not None:
        entries = {key: entry for key, entry in entries.items() if entry.kind == kind} or entries
    query = GradedQuery(
        query_id,
        {key: position for position, key in enumerate(entries)},
        Weights.of(entries.values(), [entry.weight for entry in entries.values()]),
    )
    if each_copy:
        query.copies = ids_of_copies(entries)
    return query


def ratings_of_pairs(file: GradedFile) -> dict[tuple[str, ...], int]:
    """Return (query id, passage id, entry id) to rating."""
    return {
        (query_id, passage.passage_id, entry_id): grade
        for query_id, query in file.queries.items()
        for passage in query.passages
        for grade, entries in passage.levels.items()
        for entry_id, position in query.entries.items()
        if entries >> position & 1
    }
