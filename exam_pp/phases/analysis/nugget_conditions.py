"""Meta-evaluation of two conditions of nugget evaluation: Kendall's τ over runs, pairs and topics."""

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
    """Two conditions, and their agreement by metric."""

    first: Condition
    second: Condition
    metrics: Mapping[str, MetaEvaluation]


@dataclass(frozen=True)
class Points:
    """Runs, and runs on single topics by (run, topic), as points; ``front`` is the Pareto front of runs."""

    runs: Mapping[str, Point]
    topics: Mapping[tuple[str, str], Point]
    front: Sequence[str] = ()


def two_conditions(conditions: Sequence[Condition]) -> tuple[Condition, Condition]:
    """The two conditions, the second under the first one's names of runs.

    Raises :class:`~exam_pp.errors.SelectionError` for another number of them, or unless they have two runs
    in common, or one with several topics.
    """
    if len(conditions) != 2:
        held = ", ".join(condition.name for condition in conditions)
        raise SelectionError(f"Two conditions are compared, but there are {len(conditions)} ({held}).")
    first, second = conditions
    ours, theirs = first.evaluation, second.evaluation
    names = matched_names(ours.systems, theirs.systems)
    matched = [score._replace(system=names.get(score.system, score.system)) for score in theirs.scores]
    told = [f"{cut} is taken for {full}." for cut, full in names.items()]
    second = replace(second, evaluation=Evaluation(matched, [*theirs.notes, *told]))
    runs = set(ours.systems) & set(second.evaluation.systems)
    if len(runs) < 2 and len(_pairs(ours) & _pairs(second.evaluation)) < 2:
        raise SelectionError(
            f"{first.name} and {second.name} have fewer than two runs in common (are they named alike?)."
        )
    return first, second


def _pairs(evaluation: Evaluation) -> set[tuple[str, str]]:
    return {(s.system, s.query_id) for s in evaluation.scores if s.query_id != ALL_QUERIES}


def compare_conditions(first: Condition, second: Condition) -> ConditionAgreement:
    """The agreement of two conditions, for the nugget metrics that both have.

    Raises :class:`~exam_pp.errors.SelectionError` if there is none.
    """
    metrics = [metric for metric in first.metrics if metric in second.metrics]
    if not metrics:
        raise SelectionError(
            f"{first.name} and {second.name} have no metric in common; known are {', '.join(NUGGET_METRICS)}."
        )
    found = {
        metric: meta_evaluation(
            first.means(metric), second.means(metric), cells(first, metric), cells(second, metric)
        )
        for metric in metrics
    }
    return ConditionAgreement(first, second, found)


def cells(condition: Condition, metric: str) -> dict[tuple[str, str], float]:
    """(run, topic) to score; nothing for a condition of means alone."""
    return {
        (score.system, score.query_id): score.value
        for score in condition.evaluation.scores
        if score.metric == metric and score.query_id != ALL_QUERIES
    }


def condition_points(first: Condition, second: Condition, metric: str) -> Points:
    """The scores of two conditions against each other."""
    means = first.means(metric), second.means(metric)
    scores = cells(first, metric), cells(second, metric)
    return Points(
        {run: (means[0][run], means[1][run]) for run in means[0] if run in means[1]},
        {pair: (scores[0][pair], scores[1][pair]) for pair in scores[0] if pair in scores[1]},
    )


def length_points(condition: Condition, metric: str) -> Points:
    """The words of answers and their scores.

    Raises :class:`~exam_pp.errors.SelectionError` for a condition without lengths.
    """
    means, lengths = condition.means(metric), condition.means(LENGTH)
    runs = {run: (lengths[run], means[run]) for run in means if run in lengths}
    if not runs:
        raise SelectionError(f"{condition.name} has no lengths of answers (a column {LENGTH}).")
    scores, words = cells(condition, metric), cells(condition, LENGTH)
    topics = {pair: (words[pair], scores[pair]) for pair in scores if pair in words}
    return Points(runs, topics, pareto_front(runs))
