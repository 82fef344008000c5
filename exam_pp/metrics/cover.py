"""Rubric-Cover: the share of a query's bank entries that a system's first k passages cover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import fsum

from exam_pp.metrics.graded import GradedPassage, GradedQuery
from exam_pp.results import OVERALL_SYSTEM, Score


@dataclass(frozen=True)
class Cover:
    """Share of the entries that some passage within the cutoff reaches ``min_grade`` for.

    With ``normalised``, the share of those entries that *any* graded passage of the query reaches it
    for; where there are none, the score is 0. Values are in 0..1.

    Source: Dietz, "A Workbench for Autograding Retrieve/Generate Systems", SIGIR 2024, section 4.5;
    normalisation: Sander and Dietz, "EXAM", DESIRES 2021.
    """

    min_grade: int
    cutoff: int = 20
    normalised: bool = False

    def __str__(self) -> str:
        return f"{'nCover' if self.normalised else 'Cover'}(min_grade={self.min_grade})@{self.cutoff}"

    def __call__(self, query: GradedQuery, first_ranks: Mapping[str, int]) -> Iterator[Score]:
        """See :class:`exam_pp.metrics.base.Metric`."""
        reached = [passage.reaching(self.min_grade) for passage in query.passages]
        covered_by_any = _union(reached)
        best = query.size(covered_by_any if self.normalised else query.everything)
        for system, first_rank in first_ranks.items():
            covered = _union(reached[index] for index in query.top(system, first_rank, self.cutoff))
            yield Score(system, query.query_id, str(self), _share(query.size(covered), best))
        yield Score(OVERALL_SYSTEM, query.query_id, str(self), _share(query.size(covered_by_any), best))


@dataclass(frozen=True)
class SoftCover:
    """Mean over the entries of the highest expected grade within the cutoff, as a share of the scale.

    Graded files store the expected grade of a pair, not the probability of every grade, so this is
    Σ_e max_p E[grade(p, e)] / (max_grade · |E|), without a threshold.
    """

    max_grade: int
    cutoff: int = 20

    def __str__(self) -> str:
        return f"SoftCover@{self.cutoff}"

    def __call__(self, query: GradedQuery, first_ranks: Mapping[str, int]) -> Iterator[Score]:
        """See :class:`exam_pp.metrics.base.Metric`."""
        for system, first_rank in first_ranks.items():
            passages = [query.passages[index] for index in query.top(system, first_rank, self.cutoff)]
            yield Score(system, query.query_id, str(self), self._value(query, passages))
        yield Score(OVERALL_SYSTEM, query.query_id, str(self), self._value(query, query.passages))

    def _value(self, query: GradedQuery, passages: Iterable[GradedPassage]) -> float:
        best: dict[int, float] = {}
        for passage in passages:
            for entry, expected in passage.expected.items():
                best[entry] = max(expected, best.get(entry, 0.0))
        weights = query.weights or [1.0] * len(query.entries)
        total = fsum(weights[entry] * expected for entry, expected in best.items())
        return _share(total, self.max_grade * query.size(query.everything))


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
