"""Agreement of two conditions of nugget evaluation: Kendall's τ over runs, topics and their pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from exam_pp.errors import SelectionError
from exam_pp.metrics.meta_evaluation import MetaEvaluation, meta_evaluation
from exam_pp.metrics.nuggets import LENGTH, NUGGET_METRICS
from exam_pp.phases.analysis.response_lengths import pareto_front
from exam_pp.phases.evaluation.nugget_leaderboard import Condition
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.evaluation.system_names import matched_names
from exam_pp.results import ALL_QUERIES

Point = tuple[float, float]


@dataclass(frozen=True)
class ConditionAgreement:
    """The agreement of two conditions; ``metrics`` is metric to agreement."""

    first: Condition
    second: Condition
    metrics: Mapping[str, MetaEvaluation]


@dataclass(frozen=True)
class Points:
    """Points (x, y) of runs and of pairs (run, topic); ``front`` is the Pareto front of the runs."""

    runs: Mapping[str, Point]
    topics: Mapping[tuple[str, str], Point]
    front: Sequence[str] = ()


def two_conditions(conditions: Sequence[Condition]) -> tuple[Condition, Condition]:
    """Match the names of runs in two conditions and check that they can be compared.

    Returns the conditions with the runs of the second renamed as in the first. Raises
    :class:`~exam_pp.errors.SelectionError` unless there are exactly two conditions with two runs in common,
    or one run with several topics.
    """
    if len(conditions) != 2:
        names = ", ".join(condition.name for condition in conditions)
        raise SelectionError(
            f"A comparison needs two conditions, but there {'is' if len(conditions) == 1 else 'are'} "
            f"{len(conditions)} ({names})."
        )
    first, second = conditions
    left, right = first.evaluation, second.evaluation
    matched = matched_names(left.systems, right.systems)
    scores = [score._replace(system=matched.get(score.system, score.system)) for score in right.scores]
    notes = [f"{right_name} is matched with {left_name}." for right_name, left_name in matched.items()]
    second = replace(
        second, evaluation=Evaluation(scores, [*right.notes, *notes], provenance=right.provenance)
    )
    runs = set(left.systems) & set(second.evaluation.systems)
    if len(runs) < 2 and len(_pairs(left) & _pairs(second.evaluation)) < 2:
        raise SelectionError(
            f"{first.name} and {second.name} have fewer than two runs in common. Check that both use the "
            "same names of runs."
        )
    return first, second


def _pairs(evaluation: Evaluation) -> set[tuple[str, str]]:
    return {(s.system, s.query_id) for s in evaluation.scores if s.query_id != ALL_QUERIES}


def compare_conditions(first: Condition, second: Condition) -> ConditionAgreement:
    """Compute the agreement of two conditions for the nugget metrics that both have.

    Raises :class:`~exam_pp.errors.SelectionError` if they have no metric in common.
    """
    metrics = [metric for metric in first.metrics if metric in second.metrics]
    if not metrics:
        raise SelectionError(
            f"{first.name} and {second.name} have no metric in common. Known metrics: "
            f"{', '.join(NUGGET_METRICS)}."
        )
    agreement = {
        metric: meta_evaluation(
            first.means(metric), second.means(metric), cells(first, metric), cells(second, metric)
        )
        for metric in metrics
    }
    return ConditionAgreement(first, second, agreement)


def cells(condition: Condition, metric: str) -> dict[tuple[str, str], float]:
    """Return (run, topic) to score; empty for a condition that has only means."""
    return {
        (score.system, score.query_id): score.value
        for score in condition.evaluation.scores
        if score.metric == metric and score.query_id != ALL_QUERIES
    }


def condition_points(first: Condition, second: Condition, metric: str) -> Points:
    """Points of the scores of two conditions: the first on the x-axis, the second on the y-axis."""
    means = first.means(metric), second.means(metric)
    scores = cells(first, metric), cells(second, metric)
    return Points(
        {run: (means[0][run], means[1][run]) for run in means[0] if run in means[1]},
        {pair: (scores[0][pair], scores[1][pair]) for pair in scores[0] if pair in scores[1]},
    )


def length_points(condition: Condition, metric: str) -> Points:
    """Points of answer length in words (x-axis) and score (y-axis).

    Raises :class:`~exam_pp.errors.SelectionError` for a condition without answer lengths.
    """
    means, lengths = condition.means(metric), condition.means(LENGTH)
    runs = {run: (lengths[run], means[run]) for run in means if run in lengths}
    if not runs:
        raise SelectionError(f"{condition.name} has no answer lengths (column {LENGTH}).")
    scores, topic_lengths = cells(condition, metric), cells(condition, LENGTH)
    topics = {pair: (topic_lengths[pair], scores[pair]) for pair in scores if pair in topic_lengths}
    return Points(runs, topics, pareto_front(runs))
