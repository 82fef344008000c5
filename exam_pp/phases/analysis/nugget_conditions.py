"""Agreement of two conditions of nugget evaluation: Kendall's τ over runs, queries and their pairs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from exam_pp.errors import SelectionError
from exam_pp.metrics.correlation import MetaEvaluation, meta_evaluation
from exam_pp.metrics.leaderboard import exact_mean
from exam_pp.metrics.measures import LENGTH, NUGGET_METRICS
from exam_pp.phases.evaluation.nugget_leaderboard import Condition
from exam_pp.phases.evaluation.result import Evaluation, matched_names, renamed
from exam_pp.results import ALL_QUERIES
from exam_pp.text.wording import listed

Point = tuple[float, float]


@dataclass(frozen=True)
class TypeAgreement:
    """The runs of a type, such as RAG: metric to agreement, and to the mean score in both conditions."""

    run_type: str
    metrics: Mapping[str, MetaEvaluation]
    means: Mapping[str, tuple[float, float]]


@dataclass(frozen=True)
class ConditionAgreement:
    """The agreement of two conditions; ``metrics`` is metric to agreement.

    ``by_type`` are the agreements of the runs of each type, by name; empty if the types are unknown.
    """

    first: Condition
    second: Condition
    metrics: Mapping[str, MetaEvaluation]
    by_type: Sequence[TypeAgreement] = ()


@dataclass(frozen=True)
class Points:
    """Points (x, y) of runs and of pairs (run, query); ``front`` is the Pareto front of the runs."""

    runs: Mapping[str, Point]
    queries: Mapping[tuple[str, str], Point]
    front: Sequence[str] = ()


def two_conditions(conditions: Sequence[Condition]) -> tuple[Condition, Condition]:
    """Match the names of runs in two conditions and check that they can be compared.

    Returns the conditions with the runs of the second renamed as in the first. Raises
    :class:`~exam_pp.errors.SelectionError` unless there are exactly two conditions with two runs in common,
    or one run with several queries.
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
        of = [f"{c.name} has {listed(sorted(c.evaluation.systems)) or 'no runs'}" for c in (first, second)]
        raise SelectionError(
            f"{first.name} and {second.name} have fewer than two runs in common: {' and '.join(of)}. Use the "
            "same names of runs; files of metrics are named after their run."
        )
    return first, second


def _pairs(evaluation: Evaluation) -> set[tuple[str, str]]:
    return {(s.system, s.query_id) for s in evaluation.scores if s.query_id != ALL_QUERIES}


def compare_conditions(
    first: Condition, second: Condition, types: Mapping[str, str] | None = None
) -> ConditionAgreement:
    """Compute the agreement of two conditions for the nugget metrics that both have.

    ``types`` is run to type, for the agreement of the runs of each type. Raises
    :class:`~exam_pp.errors.SelectionError` if the conditions have no metric in common.
    """
    metrics = [metric for metric in first.metrics if metric in second.metrics]
    if not metrics:
        raise SelectionError(
            f"{first.name} and {second.name} have no metric in common. Known metrics: "
            f"{', '.join(NUGGET_METRICS)}."
        )
    systems = first.evaluation.systems
    of_types = renamed(types or {}, matched_names(systems, types or {}))
    runs_of_type: dict[str, list[str]] = {}
    for system in systems:
        if system in of_types:
            runs_of_type.setdefault(of_types[system], []).append(system)
    by_type = [
        TypeAgreement(
            run_type,
            {metric: _agreement(first, second, metric, runs) for metric in metrics},
            {metric: means for metric in metrics if (means := _means(first, second, metric, runs))},
        )
        for run_type, runs in sorted(runs_of_type.items())
    ]
    agreement = {metric: _agreement(first, second, metric) for metric in metrics}
    return ConditionAgreement(first, second, agreement, by_type)


def _agreement(
    first: Condition, second: Condition, metric: str, runs: Collection[str] | None = None
) -> MetaEvaluation:
    """The agreement on a metric, of all runs or only of ``runs``."""
    left, right = (_of_runs(condition.means(metric), runs) for condition in (first, second))
    scores = [
        {pair: score for pair, score in cells(condition, metric).items() if runs is None or pair[0] in runs}
        for condition in (first, second)
    ]
    return meta_evaluation(left, right, *scores)


def _means(
    first: Condition, second: Condition, metric: str, runs: Collection[str]
) -> tuple[float, float] | None:
    """The mean score of the runs that both conditions have, in each; None without such runs."""
    left, right = (_of_runs(condition.means(metric), runs) for condition in (first, second))
    common = [run for run in left if run in right]
    if not common:
        return None
    return exact_mean([left[run] for run in common]), exact_mean([right[run] for run in common])


def _of_runs(means: Mapping[str, float], runs: Collection[str] | None) -> dict[str, float]:
    return {run: mean for run, mean in means.items() if runs is None or run in runs}


def cells(condition: Condition, metric: str) -> dict[tuple[str, str], float]:
    """Return (run, query) to score; empty for a condition that has only means."""
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
    scores, query_lengths = cells(condition, metric), cells(condition, LENGTH)
    queries = {pair: (query_lengths[pair], scores[pair]) for pair in scores if pair in query_lengths}
    return Points(runs, queries, pareto_front(runs))


def pareto_front(points: Mapping[str, Point]) -> list[str]:
    """Return the systems on the Pareto front of length and score, in the order of ``points``.

    A system is on the front unless another system is at least as short and at least as good, and is shorter
    or better.
    """
    return [
        system
        for system, (length, score) in points.items()
        if not any(x <= length and y >= score and (x, y) != (length, score) for x, y in points.values())
    ]
