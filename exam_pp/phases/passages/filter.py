"""Filters of passages files by query, system, grades and judgments."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.data_model import AnyGrades, RankingEntry, Role, is_canary
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.phases.passages.transform import Rewritten, Step
from exam_pp.records import replace
from exam_pp.roles import accepted_entries, role_of
from exam_pp.store.passages.raw_passages import RawPassage, RawQuery


@dataclass(frozen=True)
class FilterOptions:
    """Criteria of the parts to keep, combined with AND; the default keeps the whole file.

    ``role`` keeps the passages and ranking entries of a role, as in :func:`exam_pp.roles.choose_role`.

    ``systems`` keeps the rankings of these systems, and the passages that they returned. ``grade_filter``
    keeps matching sets of grades and drops no passages. ``graded`` keeps passages with (True) or without
    (False) matching grades, ``min_grade`` passages with a matching grade of at least this; ``judged`` keeps
    passages with a judgment, ``min_judgment`` passages with a judgment of at least this. Without
    ``canaries``, canary systems and their passages are dropped.
    """

    queries: Collection[str] | None = None
    systems: Collection[str] = ()
    grade_filter: GradeFilter = field(default_factory=GradeFilter)
    graded: bool | None = None
    min_grade: int | None = None
    judged: bool = False
    min_judgment: int | None = None
    role: Role | None = None
    canaries: bool = True


def filter_step(
    source: Path, options: FilterOptions, required_queries: Collection[str] = ()
) -> Step[RawQuery]:
    """Keep the matching part of a passages file, without queries of which no passage matches.

    The check raises :class:`SelectionError` if one of ``required_queries`` or of the systems is not in the
    file, no grades match the grade filter, or the result is empty.
    """
    seen: set[str] = set()
    ranked: set[str] = set()
    grades = GradeSelector(options.grade_filter)
    filters_grades = options.grade_filter != GradeFilter() and options.graded is not False

    def change(query: RawQuery) -> RawQuery | None:
        seen.add(query.query_id)
        for passage in query.passages:  # also of dropped queries, whose systems and grades are in the file
            if options.systems:
                ranked.update(ranking.method for ranking in passage.rankings)
            if filters_grades:
                grades.select(passage)
        if options.queries is not None and query.query_id not in options.queries:
            return None
        query.passages = [
            passage
            for passage in query.passages
            if (options.canaries or _is_real(passage))
            and _has_role(query.query_id, passage, options.role)
            and _keep(passage, options)
        ]
        _keep_full_rankings(query, options)
        return query if query.passages else None

    def check(counts: Rewritten) -> None:
        for noun, names, present in (("query", required_queries, seen), ("system", options.systems, ranked)):
            absent = [name for name in names if name not in present]
            if absent:
                raise SelectionError(f"{source} has no {noun} {absent[0]!r}.")
        if filters_grades:
            grades.check_any(str(source))
        if not counts.queries:
            raise SelectionError(f"No passage of {source} matches the filter.")

    return Step(change, check)


def _has_role(query_id: str, passage: RawPassage, role: Role | None) -> bool:
    """Return whether the passage has the role; if it does, drop its rankings of other roles."""
    if role is None:
        return True
    entries = passage.rankings
    if accepted_entries(query_id, passage.passage_id, entries, role) is None:
        return False
    _keep_rankings(passage, lambda entry: role_of(query_id, passage.passage_id, entry) == role)
    return True


def _keep_rankings(passage: RawPassage, keeps: Callable[[RankingEntry], bool]) -> None:
    passage.edit("rankings", lambda entry: entry if keeps(entry) else None)


def _keep_full_rankings(query: RawQuery, options: FilterOptions) -> None:
    """Drop the full rankings of other systems, and all if answers are selected."""
    if (options.systems or options.role == "answer") and (beyond := query.beyond_pool) is not None:
        systems = options.systems if options.role != "answer" else ()
        kept = [ranking for ranking in beyond.rankings if ranking.method in systems]
        query.set_beyond_pool(replace(beyond, rankings=kept))


def _is_real(passage: RawPassage) -> bool:
    """Return whether the passage is not only that of canaries; if so, drop the rankings of canaries."""
    entries = passage.rankings
    if entries and all(is_canary(entry.method) for entry in entries):
        return False
    _keep_rankings(passage, lambda entry: not is_canary(entry.method))
    return True


def _keep(passage: RawPassage, options: FilterOptions) -> bool:
    """Return whether the passage matches; if it does, drop its rankings and grades that do not match."""

    def accepted(grades: AnyGrades) -> AnyGrades | None:
        return grades if options.grade_filter.accepts(grades) else None

    if options.systems and not any(ranking.method in options.systems for ranking in passage.rankings):
        return False
    if not (_is_judged(passage, options) and _is_graded(passage, options)):
        return False
    if options.systems:
        _keep_rankings(passage, lambda entry: entry.method in options.systems)
    if options.grade_filter != GradeFilter():
        passage.edit_grades(accepted)
    return True


def _is_judged(passage: RawPassage, options: FilterOptions) -> bool:
    if not options.judged and options.min_judgment is None:
        return True
    levels = [judgment.relevance for judgment in passage.judgments]
    return bool(levels) and (options.min_judgment is None or max(levels) >= options.min_judgment)


def _is_graded(passage: RawPassage, options: FilterOptions) -> bool:
    if options.graded is None and options.min_grade is None:
        return True
    accepted = [grades for grades in passage.grade_sets() if options.grade_filter.accepts(grades)]
    if options.graded is not None and any(grades.graded_ids() for grades in accepted) != options.graded:
        return False
    ratings = [rating for grades in accepted for rating in grades.entry_ratings().values()]
    return options.min_grade is None or max(ratings, default=options.min_grade - 1) >= options.min_grade
