"""A part of a passages file: some queries, systems, passages and sets of grades."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.phases.passages.transform import Rewritten, rewrite
from exam_pp.store.passages.raw_json import RawJson, joined, list_of, text_at
from exam_pp.store.passages.raw_passages import RawGrades, RawPassage, RawQuery


@dataclass(frozen=True)
class Wanted:
    """What is kept. Everything that is set must hold; the default keeps all.

    Of ``systems``, their rankings and the passages that they returned. Of ``grade_filter``, the sets of
    grades that pass, whatever passages they are for. ``graded`` keeps the passages that have such grades
    (False: that have none), ``min_grade`` those whose best such grade reaches it; ``judged`` those with a
    judgment, ``min_judgment`` those with one that reaches it.
    """

    queries: Collection[str] | None = None
    systems: Collection[str] = ()
    grade_filter: GradeFilter = field(default_factory=GradeFilter)
    graded: bool | None = None
    min_grade: int | None = None
    judged: bool = False
    min_judgment: int | None = None


def filter_file(
    source: Path, output: Path, wanted: Wanted, *, named: Collection[str] = (), inputs: Collection[Path] = ()
) -> Rewritten:
    """Write the part of a passages file that is wanted; queries without a passage left are left out.

    ``named`` are queries that must be there. Raises :class:`SelectionError` where one of them or one of
    the systems is not in the file, none of the grades pass the filter of grades, or nothing is left.
    """
    seen: set[str] = set()
    ranked: set[str] = set()
    grades = GradeSelector(wanted.grade_filter)
    of_grades = wanted.grade_filter != GradeFilter() and wanted.graded is not False

    def change(query: RawQuery) -> RawQuery | None:
        seen.add(query.query_id)
        for passage in query.passages:  # of unwanted queries, too: what is in the file is not called absent
            if wanted.systems:
                ranked.update(ranking.method for ranking in passage.rankings)
            if of_grades:
                grades.select(passage)
        if wanted.queries is not None and query.query_id not in wanted.queries:
            return None
        query.passages = [passage for passage in query.passages if _keep(passage, wanted)]
        return query if query.passages else None

    def check(counts: Rewritten) -> None:
        for what, names, found in (("query", named, seen), ("system", wanted.systems, ranked)):
            absent = [name for name in names if name not in found]
            if absent:
                raise SelectionError(f"{source} has no {what} {absent[0]!r}.")
        if of_grades:
            grades.check_any(str(source))
        if not counts.lines:
            raise SelectionError(f"Nothing in {source} is left by the filter.")

    return rewrite(source, output, change, inputs=inputs, check=check)


def _keep(passage: RawPassage, wanted: Wanted) -> bool:
    """Whether the passage is kept; if so, it is left with what is wanted of it."""
    if wanted.systems and not any(ranking.method in wanted.systems for ranking in passage.rankings):
        return False
    if not (_is_judged(passage, wanted) and _is_graded(passage, wanted)):
        return False
    if wanted.systems:
        passage.change(("paragraph_data", "rankings"), partial(_rankings_of, wanted.systems))
    if wanted.grade_filter != GradeFilter():
        passage.edit_grades(partial(_accepted, wanted.grade_filter))
    return True


def _is_judged(passage: RawPassage, wanted: Wanted) -> bool:
    if not wanted.judged and wanted.min_judgment is None:
        return True
    levels = [judgment.relevance for judgment in passage.judgments]
    return bool(levels) and (wanted.min_judgment is None or max(levels) >= wanted.min_judgment)


def _is_graded(passage: RawPassage, wanted: Wanted) -> bool:
    if wanted.graded is None and wanted.min_grade is None:
        return True
    accepted = [grades for grades in passage.grade_sets() if wanted.grade_filter.accepts(grades)]
    if wanted.graded is not None and any(grades.graded_ids() for grades in accepted) != wanted.graded:
        return False
    ratings = [rating for grades in accepted for rating in grades.entry_ratings().values()]
    return wanted.min_grade is None or max(ratings, default=wanted.min_grade - 1) >= wanted.min_grade


def _rankings_of(systems: Collection[str], old: RawJson | None) -> RawJson:
    return joined(ranking for ranking in list_of(old) if text_at(ranking, "method") in systems)


def _accepted(grade_filter: GradeFilter, grades: RawGrades) -> RawGrades | None:
    return grades if grade_filter.accepts(grades.view) else None
