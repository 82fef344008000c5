"""Grades of canaries by every grader, compared with those of the passages of real systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path

from exam_pp.data_model import CANARY, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector
from exam_pp.metrics.grade_masks import GradedPassage, GradedQuery, gather
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.phases.evaluation.inputs import views
from exam_pp.phases.evaluation.selected_grades import default_min_grade, selectors
from exam_pp.phases.trust.canary_texts import control_of
from exam_pp.prompts.base import with_aliases
from exam_pp.provenance import Provenance, graded_by

REAL = "(real passages)"
"""Name of the row of all passages that no canary returned."""


@dataclass
class CanaryGrades:
    """The grades of a grader for the passages of a canary, or for all real passages.

    ``covers``: For each query with ratings the share of the entries that the passages cover; empty for real
    passages. ``control``: The canary that this one changes, with its grades for the same queries; None if it
    changes none, or the file lacks it.
    """

    grader: GradeKey
    canary: str
    min_grade: int
    passages: int = 0
    by_query: dict[str, list[int]] = field(default_factory=dict)
    covers: list[float] = field(default_factory=list)
    control: CanaryGrades | None = None

    @property
    def ratings(self) -> list[int]:
        """The ratings of all graded pairs."""
        return list(chain.from_iterable(self.by_query.values()))

    @property
    def mean(self) -> float | None:
        """The mean rating; None without ratings."""
        ratings = self.ratings
        return exact_mean([float(rating) for rating in ratings]) if ratings else None

    @property
    def covered(self) -> float | None:
        """The share of the graded pairs with a rating of at least the threshold; None without ratings."""
        ratings = self.ratings
        return sum(rating >= self.min_grade for rating in ratings) / len(ratings) if ratings else None

    @property
    def cover(self) -> float | None:
        """The mean over queries of the share of entries that the passages cover; None without ratings."""
        return exact_mean(self.covers) if self.covers else None

    def add(self, query_id: str, passages: Iterable[GradedPassage]) -> None:
        """Add passages of a query."""
        ratings = self.by_query.setdefault(query_id, [])
        for passage in passages:
            self.passages += 1
            ratings += passage.ratings

    def compare(self, control: CanaryGrades | None) -> None:
        """Set the control, for the queries of this canary."""
        if control is not None:
            shared = {query_id: control.by_query.get(query_id, []) for query_id in self.by_query}
            self.control = replace(control, by_query=shared)


@dataclass(frozen=True)
class CanaryReport:
    """The grades of canaries by all graders: for each grader the real passages first, then the canaries."""

    rows: Sequence[CanaryGrades]
    provenance: Provenance


def canary_report(
    graded: Path, *, grade_filter: GradeFilter | None = None, min_grade: int | None = None
) -> CanaryReport:
    """Collect the grades of canaries, and of all other passages, for every grader in a file.

    ``min_grade``: Lowest rating that covers an entry. Default: 4, the highest grade of a shorter scale, or 1
    for prompts without a scale.
    """
    lines = list(views(graded, mixed=True, canaries=True))
    if not any(is_canary(r.method) for line in lines for p in line.passages for r in p.rankings):
        raise SelectionError(f"{graded} has no canaries; add them with `exam-pp canaries` before grading.")
    rows: list[CanaryGrades] = []
    keys = []
    for key, selector in selectors(lines, with_aliases(grade_filter or GradeFilter()), graded).items():
        file = gather(lines, selector)
        keys.append(key)
        rows += _of_grader(key, file.queries.values(), _threshold(selector, min_grade))
    return CanaryReport(rows, graded_by(keys))


def _threshold(selector: GradeSelector, min_grade: int | None) -> int:
    return default_min_grade(selector) if min_grade is None else min_grade


def _of_grader(key: GradeKey, queries: Iterable[GradedQuery], min_grade: int) -> list[CanaryGrades]:
    """A row for the real passages, and one for each canary."""
    rows = {REAL: CanaryGrades(key, REAL, min_grade)}
    for query in queries:
        canaries = {system: ranking for system, ranking in query.rankings.items() if is_canary(system)}
        of_canaries: set[int] = set()
        for system, ranking in canaries.items():
            indices = {index for _, _, index in ranking}
            of_canaries |= indices
            row = rows.setdefault(system, CanaryGrades(key, system, min_grade))
            row.add(query.query_id, (query.passages[index] for index in sorted(indices)))
            if any(query.passages[index].levels for index in indices):
                row.covers.append(_cover(query, indices, min_grade))
        real = (p for index, p in enumerate(query.passages) if index not in of_canaries)
        rows[REAL].add(query.query_id, real)
    for system, row in rows.items():
        row.compare(rows.get(f"{CANARY}{control_of(system.removeprefix(CANARY))}"))
    return list(rows.values())


def _cover(query: GradedQuery, indices: Iterable[int], min_grade: int) -> float:
    covered = 0
    for index in indices:
        covered |= query.passages[index].reaching(min_grade)
    return covered.bit_count() / len(query.entries)
