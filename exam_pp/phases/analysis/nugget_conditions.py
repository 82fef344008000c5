"""Analyze: how two conditions of nugget evaluation agree, and figures 6 and 7 of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from exam_pp.errors import SelectionError
from exam_pp.metrics.meta_evaluation import MetaEvaluation, meta_evaluation
from exam_pp.metrics.nuggets import LENGTH, NUGGET_METRICS
from exam_pp.phases.analysis.figures import Drawing, pareto_front
from exam_pp.phases.evaluation.nugget_leaderboard import Condition
from exam_pp.phases.evaluation.rubric import Evaluation
from exam_pp.phases.evaluation.system_names import matched_names, renamed
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.rendering.nugget_plots import Cloud, scatter
from exam_pp.results import ALL_QUERIES

_SIZE = (6.5, 4.5)


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


def compare_conditions(first: Condition, second: Condition) -> dict[str, MetaEvaluation]:
    """Metric to the agreement of two conditions, for the nugget metrics that both have.

    Raises :class:`~exam_pp.errors.SelectionError` if there is none.
    """
    metrics = [metric for metric in first.metrics if metric in second.metrics]
    if not metrics:
        raise SelectionError(
            f"{first.name} and {second.name} have no metric in common; known are {', '.join(NUGGET_METRICS)}."
        )
    return {
        metric: meta_evaluation(
            first.means(metric), second.means(metric), cells(first, metric), cells(second, metric)
        )
        for metric in metrics
    }


def cells(condition: Condition, metric: str) -> dict[tuple[str, str], float]:
    """(run, topic) to score; nothing for a condition of means alone."""
    return {
        (score.system, score.query_id): score.value
        for score in condition.evaluation.scores
        if score.metric == metric and score.query_id != ALL_QUERIES
    }


def meta_report(first: Condition, second: Condition, *, decimals: int = 3) -> Report:
    """A row for every metric: Kendall's τ-b over runs, over topic/run pairs, and by topic."""
    found = compare_conditions(first, second)
    columns = [
        "metric", "runs", "τ by run", "topic/run pairs", "τ of pairs", "topics", "τ by topic, averaged"
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            metric,
            row.runs,
            row.by_run,
            row.pairs or None,
            row.pooled,
            row.topics_used or None,
            row.by_topic,
        ]
        for metric, row in found.items()
    ]
    notes = [f"{first.name} against {second.name}; τ is Kendall's τ-b."]
    left = max((row.topics - row.topics_used for row in found.values()), default=0)
    if all(row.runs == 1 for row in found.values()):
        notes.append("One run in common: only its topics can be compared, by τ of pairs.")
    elif left:
        notes.append(f"Topics on which one side ties all runs have no τ: {left} for one metric or more.")
    if not any(row.pairs for row in found.values()):
        notes.append("The scores are means: τ of topics needs the scores of single topics.")
    notes += _one_sided(first, second)
    notes += [f"{c.name}: {note}" for c in (first, second) for note in c.evaluation.notes]
    return Report(
        "Agreement of two conditions", [Table(columns, rows, decimals=decimals), *map(Paragraph, notes)]
    )


def _one_sided(first: Condition, second: Condition) -> list[str]:
    ours, theirs = first.evaluation.systems, second.evaluation.systems
    return [
        f"Only in {name}: {', '.join(only)}."
        for only, name in (
            ([s for s in ours if s not in theirs], first.name),
            ([s for s in theirs if s not in ours], second.name),
        )
        if only
    ]


def conditions_figure(
    first: Condition, second: Condition, types: Mapping[str, str], metric: str = NUGGET_METRICS[0]
) -> Drawing:
    """One condition against the other, with Kendall's τ in the corner (figure 6)."""
    row = compare_conditions(first, second)[metric]
    lines = [("run", row.by_run), ("all topic/run pairs", row.pooled), ("per topic, averaged", row.by_topic)]
    box = "\n".join(f"τ {name}: {tau:.3f}" for name, tau in lines if tau is not None)
    means = first.means(metric), second.means(metric)
    points = cells(first, metric), cells(second, metric)
    runs = {run: (means[0][run], means[1][run]) for run in means[0] if run in means[1]}
    topics = {pair: (points[0][pair], points[1][pair]) for pair in points[0] if pair in points[1]}
    figure = scatter(
        _clouds(runs, topics, types), f"{metric}, {first.name}", f"{metric}, {second.name}", box=box
    )
    return figure, _SIZE


def length_figure(condition: Condition, types: Mapping[str, str], metric: str = NUGGET_METRICS[0]) -> Drawing:
    """Scores against the words of the answer, with the Pareto front of the runs (figure 7)."""
    means, lengths = condition.means(metric), condition.means(LENGTH)
    runs = {run: (lengths[run], means[run]) for run in means if run in lengths}
    if not runs:
        raise SelectionError(f"{condition.name} has no lengths of answers (a column {LENGTH}).")
    points, words = cells(condition, metric), cells(condition, LENGTH)
    topics = {pair: (words[pair], points[pair]) for pair in points if pair in words}
    front = [runs[run] for run in pareto_front(runs)]
    figure = scatter(
        _clouds(runs, topics, types),
        f"{LENGTH}: words of the answer",
        f"{metric}, {condition.name}",
        front=front,
    )
    return figure, _SIZE


def _clouds(
    runs: Mapping[str, tuple[float, float]],
    topics: Mapping[tuple[str, str], tuple[float, float]],
    types: Mapping[str, str],
) -> list[Cloud]:
    """One cloud for each type of run; RAG first, as in the paper."""
    types = renamed(types, matched_names(list(runs), types))
    kinds = sorted({types.get(run, "") for run in runs}, key=lambda kind: (kind != "RAG", kind == "", kind))
    return [
        Cloud(
            kind,
            [point for run, point in runs.items() if types.get(run, "") == kind],
            [point for (run, _), point in topics.items() if types.get(run, "") == kind],
        )
        for kind in kinds
    ]
