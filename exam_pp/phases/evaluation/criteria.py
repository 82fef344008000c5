"""Leaderboards of ratings of answers by criteria, such as accuracy and completeness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.data_model import CriteriaGrades, QueryPassages, is_canary
from exam_pp.metrics.score_ranges import Range
from exam_pp.phases.evaluation.graded_citations import (
    CitationGrader,
    SupportFilter,
    grader_of,
    only_grader,
    provenance_of,
)
from exam_pp.phases.evaluation.result import Evaluation, MissingQueries, PathLike, check_names, counted_names
from exam_pp.prompts.criteria import MEAN
from exam_pp.results import Score
from exam_pp.roles import DistinctNames, outputs_of
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.text.wording import counted


@dataclass
class _Rated:
    """The ratings of answers: system and query to criterion to rating, and the highest levels."""

    answers: dict[tuple[str, str], dict[str, int]] = field(default_factory=dict)
    highest: dict[str, int] = field(default_factory=dict)
    graders: Counter[CitationGrader] = field(default_factory=Counter)
    queries: dict[str, None] = field(default_factory=dict)

    def add(self, system: str, query_id: str, sets: Iterable[CriteriaGrades]) -> None:
        """Add the ratings of an answer; of several by one criterion, the last one counts."""
        self.queries[query_id] = None
        ratings = self.answers.setdefault((system, query_id), {})
        for grades in sets:
            self.graders[grader_of(grades)] += 1
            levels = grades.highest_levels
            for name, rating in ((item.criterion, item.rating) for item in grades.ratings):
                self.highest[name] = max(levels.get(name, 0), rating or 0, self.highest.get(name, 0))
                if rating is not None:
                    ratings[name] = rating


def criteria(
    source: PathLike | Iterable[QueryPassages],
    *,
    selection: SupportFilter | None = None,
    queries: Collection[str] | None = None,
    missing_queries: MissingQueries = "zero",
) -> Evaluation:
    """Score systems by the ratings of their answers by several criteria.

    An ungraded criterion counts 0; in ``best_case`` its highest level. Of several ratings by a criterion, the
    last one counts.

    Args:
        source: A graded file of ``exam-pp grade``, or its queries.
        selection: The ratings that count; all must be by the same model, with the same prompt.
        queries: Ids of the queries to evaluate; None for all.
        missing_queries: ``zero``: a query without an answer of a system scores 0. ``skip``: it is not in the
            means of the system.

    Returns:
        Scores for each system and query: the ``mean`` of all criteria, and the rating by each of them. If the
        scales of the criteria differ, the mean is that of ratings divided by the highest level.

    Raises:
        SelectionError: No ratings match, or ratings by several models or prompts do.
    """
    chosen = selection or SupportFilter()
    name = str(source) if isinstance(source, str | Path) else "The file"
    rated, distinct = _Rated(), DistinctNames()
    for query in read_passages(source) if isinstance(source, str | Path) else source:
        if queries is not None and query.query_id not in queries:
            continue
        for output in outputs_of(query).values():
            if is_canary(output.system):
                continue
            if output.parts and (not chosen.systems or output.system in chosen.systems):
                known = output.parts[0].passage.criteria_grades or ()
                system = distinct(output.key)
                sets = [each for each in known if each.system == system and chosen.accepts(each)]
                rated.add(system, query.query_id, sets)
    grader = only_grader(
        rated.graders, name, "ratings of answers by criteria", "grade --prompt-class RAGEloCriteria"
    )
    systems = dict.fromkeys(system for system, _ in rated.answers)
    check_names(rated.queries, systems)
    notes = _notes(rated)
    scores = _scores(rated, 0)
    best_case = _scores(rated, 1) if any(len(r) < len(rated.highest) for r in rated.answers.values()) else []
    if missing_queries == "zero":
        zeros, missing_notes = _missing(rated, systems)
        scores += zeros
        best_case += zeros if best_case else []
        notes += missing_notes
    provenance = provenance_of(grader, len({score.query_id for score in scores}))
    return Evaluation(scores, notes, best_case, ranges=_ranges(rated), provenance=provenance)


def _ranges(rated: _Rated) -> dict[str, Range]:
    tops = {name: float(top or 1) for name, top in rated.highest.items()}
    return {MEAN: (0.0, 1.0 if _differ(rated) else max(tops.values(), default=1.0))} | {
        name: (0.0, top) for name, top in tops.items()
    }


def _differ(rated: _Rated) -> bool:
    """Whether the scales of the criteria differ."""
    return len(set(rated.highest.values())) > 1


def _scores(rated: _Rated, ungraded: int) -> list[Score]:
    """The scores of all answers; an ungraded criterion counts this share of its highest level."""
    same = not _differ(rated)
    scores = []
    for (system, query_id), ratings in rated.answers.items():
        values = {name: ratings.get(name, ungraded * top) for name, top in rated.highest.items()}
        parts = [value if same else value / (rated.highest[name] or 1) for name, value in values.items()]
        scores.append(Score(system, query_id, MEAN, sum(parts) / len(parts)))
        scores += [Score(system, query_id, name, float(value)) for name, value in values.items()]
    return scores


def _notes(rated: _Rated) -> list[str]:
    notes = []
    tops = rated.highest
    if len(set(tops.values())) < 2:
        notes.append(f"Ratings are from 0 to {next(iter(tops.values()))}.")
    else:
        scales = ", ".join(f"{name} 0 to {top}" for name, top in tops.items())
        notes.append(f"Scales: {scales}; the mean is that of ratings divided by their highest level.")
    ungraded = _ungraded(rated.answers.values(), tops)
    if total := ungraded.total():
        counts = ", ".join(f"{name} {count}" for name, count in ungraded.items())
        are = counted(total, "rating is missing and counts 0", "ratings are missing and count 0")
        notes.append(f"{are}: {counts}.")
    return notes


def _ungraded(answers: Iterable[Mapping[str, int]], criteria: Iterable[str]) -> Counter[str]:
    names = list(criteria)
    return Counter(name for ratings in answers for name in names if name not in ratings)


def _missing(rated: _Rated, systems: Iterable[str]) -> tuple[list[Score], list[str]]:
    """Zeros for queries without an answer, and notes on them."""
    zeros, notes = [], []
    for system in systems:
        missing = [query_id for query_id in rated.queries if (system, query_id) not in rated.answers]
        zeros += [
            Score(system, query_id, metric, 0.0) for query_id in missing for metric in (MEAN, *rated.highest)
        ]
        if missing:
            notes.append(f"No answer of {system} to {counted_names(missing, 'query', 'queries')}: scored 0.")
    return zeros, notes
