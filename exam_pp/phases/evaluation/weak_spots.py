"""Queries with low scores, the lowest query of each system, and entries that few passages cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.selected_grades import SelectedGrades
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM


class HardQuery(NamedTuple):
    """A query with its text, the mean score of all systems, and the best of them.

    The text is empty if it is unknown, ``best_system`` is empty if all systems have the same score.
    """

    query_id: str
    text: str
    mean: float
    best_system: str
    best: float


class LowestQuery(NamedTuple):
    """The query with the lowest score of a system, compared with the mean score of all systems on it."""

    system: str
    query_id: str
    score: float
    mean: float


class RareEntry(NamedTuple):
    """An entry with the number of passages that have a grade for it, and of those that cover it."""

    query_id: str
    entry_id: str
    text: str
    graded: int
    covering: int


@dataclass(frozen=True)
class WeakSpots:
    """Places in an evaluation that are worth reading.

    ``systems``: The lowest query of each system, in the order of the evaluation. Of several queries with the
    lowest score, the one on which the other systems are best. ``entries``: The graded entries, those with the
    smallest share of covering passages first.
    """

    metric: str
    queries: Sequence[HardQuery]
    systems: Sequence[LowestQuery]
    entries: Sequence[RareEntry]


def weak_spots(evaluation: Evaluation, grades: SelectedGrades) -> WeakSpots:
    """Find the weak spots of Rubric-Cover by its first measure, and of the grades at their threshold."""
    metric = next((score.metric for score in evaluation.scores), "")
    by_query: dict[str, dict[str, float]] = {}
    for score in evaluation.scores:
        if score.metric == metric and score.system != OVERALL_SYSTEM and score.query_id != ALL_QUERIES:
            by_query.setdefault(score.query_id, {})[score.system] = score.value
    means = {query_id: exact_mean(list(scores.values())) for query_id, scores in by_query.items()}
    hard = []
    lowest: dict[str, LowestQuery] = {}
    for query_id, scores in by_query.items():
        best = max(scores, key=lambda system: scores[system])
        tied = len(set(scores.values())) == 1
        text = _text(grades, query_id)
        hard.append(HardQuery(query_id, text, means[query_id], "" if tied else best, scores[best]))
        for system, value in scores.items():
            row = LowestQuery(system, query_id, value, means[query_id])
            if system not in lowest or (value, -row.mean) < (lowest[system].score, -lowest[system].mean):
                lowest[system] = row
    entries = sorted(_entries(grades), key=lambda entry: entry.covering / entry.graded)
    return WeakSpots(metric, sorted(hard, key=lambda query: query.mean), list(lowest.values()), entries)


def _text(grades: SelectedGrades, query_id: str) -> str:
    query = grades.bank.queries.get(query_id) if grades.bank is not None else None
    return query.query_text if query is not None else ""


def _entries(grades: SelectedGrades) -> list[RareEntry]:
    entries = []
    for query in grades.queries:
        graded: Counter[int] = Counter()
        covering: Counter[int] = Counter()
        for passage, reached in zip(query.passages, query.reached(grades.min_grade), strict=True):
            graded.update(_bits(passage.graded))
            covering.update(_bits(reached))
        known = grades.bank.entries(query.query_id) if grades.bank is not None else {}
        for entry_id, position in query.entries.items():
            if graded[position]:
                text = known[entry_id].text if entry_id in known else entry_id
                row = RareEntry(query.query_id, entry_id, text, graded[position], covering[position])
                entries.append(row)
    return entries


def _bits(mask: int) -> list[int]:
    """The positions of the bits that are set."""
    positions = []
    while mask:
        lowest = mask & -mask
        positions.append(lowest.bit_length() - 1)
        mask ^= lowest
    return positions
