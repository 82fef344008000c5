"""Response lengths of systems against their scores, with the Pareto front."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from exam_pp.errors import SelectionError
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.result import Evaluation, PathLike
from exam_pp.results import OVERALL_SYSTEM
from exam_pp.store.passages.graded_file import read_passages


@dataclass(frozen=True)
class LengthComparison:
    """System to the words of its response and its score by ``metric``; ``front`` is the Pareto front."""

    metric: str
    points: Mapping[str, tuple[float, float]]
    front: Sequence[str]


def response_lengths(passages: PathLike, *, cutoff: int = 20) -> dict[str, float]:
    """System to the words of its response: those of its passages within the cutoff, mean over queries."""
    ranked: dict[str, GradedQuery] = {}
    words: dict[tuple[str, int], int] = {}
    first_ranks: dict[str, int] = {}
    for line in read_passages(passages):
        query = ranked.setdefault(line.query_id, GradedQuery(line.query_id, {}))
        for passage in line.passages:
            query.add(passage, [], soft=False, closed=False)
            words[line.query_id, len(query.passages) - 1] = len(passage.text.split())
            for ranking in passage.rankings:
                first = first_ranks.get(ranking.method, 1)
                first_ranks[ranking.method] = 0 if ranking.rank == 0 else first
    return {
        system: sum(
            words[query.query_id, index]
            for query in ranked.values()
            for index in query.top(system, first_rank, cutoff)
        )
        / len(ranked)
        for system, first_rank in first_ranks.items()
    }


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The systems on the front of length and score, in the order of ``points``.

    These are the systems than which no other is at least as short and as good, and better in one of the two.
    """
    return [
        system
        for system, (length, score) in points.items()
        if not any(x <= length and y >= score and (x, y) != (length, score) for x, y in points.values())
    ]


def compare_lengths(evaluation: Evaluation, lengths: Mapping[str, float]) -> LengthComparison:
    """Scores by the first metric against response lengths.

    Raises :class:`~exam_pp.errors.SelectionError` if no system has a length.
    """
    rows = standings(evaluation.scores)
    metric = rows[0].metric
    if not any(row.system in lengths for row in rows):
        raise SelectionError("No system has rankings in the graded file, so lengths are unknown.")
    points = {
        r.system: (lengths[r.system], r.mean)
        for r in rows
        if r.metric == metric and r.system in lengths and r.system != OVERALL_SYSTEM
    }
    return LengthComparison(metric, points, pareto_front(points))
