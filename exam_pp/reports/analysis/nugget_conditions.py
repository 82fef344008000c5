"""Report on two conditions of nugget evaluation: Kendall's τ, and figures 6 and 7 of Pradeep et al. 2024."""

from __future__ import annotations

from collections.abc import Mapping

from exam_pp.metrics.correlation import MetaEvaluation
from exam_pp.metrics.measures import LENGTH, NUGGET_METRICS
from exam_pp.phases.analysis.nugget_conditions import (
    ConditionAgreement,
    Points,
    condition_points,
    length_points,
)
from exam_pp.phases.evaluation.nugget_leaderboard import Condition
from exam_pp.phases.evaluation.result import matched_names, renamed
from exam_pp.provenance import combined
from exam_pp.rendering.document import Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.points import Cloud, clouds
from exam_pp.text.wording import counted


def meta_report(result: ConditionAgreement, *, decimals: int = 3) -> Report:
    """A row for every metric with Kendall's τ-b over runs, over query/run pairs, and by query.

    A second table has these rows for the runs of each type, with their mean scores.
    """
    rows: list[list[Cell]] = [[metric, *_cells(row)] for metric, row in result.metrics.items()]
    first, second = result.first, result.second
    notes = [f"{first.name} against {second.name}; τ is Kendall's τ-b."]
    undefined = max((row.queries - row.queries_used for row in result.metrics.values()), default=0)
    if all(row.runs == 1 for row in result.metrics.values()):
        notes.append("The conditions have one run in common, so only its queries are compared (τ of pairs).")
    elif undefined:
        queries = counted(undefined, "query")
        notes.append(
            f"τ is undefined for a query if all runs are tied on one side: up to {queries} per metric."
        )
    if not any(row.pairs for row in result.metrics.values()):
        notes.append("The files have only means; τ of pairs and by query needs the scores of every query.")
    notes += _unmatched_notes(first, second)
    notes += [f"{c.name}: {note}" for c in (first, second) for note in c.evaluation.notes]
    tables = [Table(["metric", *_COLUMNS], rows, decimals=decimals)]
    if result.by_type:
        tables.append(_type_table(result, decimals))
    return Report(
        "Agreement of two conditions",
        [*tables, *map(Paragraph, notes)],
        combined([first.evaluation.provenance, second.evaluation.provenance]),
    )


_COLUMNS = ("runs", "τ by run", "query/run pairs", "τ of pairs", "queries", "τ by query, averaged")


def _cells(row: MetaEvaluation) -> list[Cell]:
    return [
        row.runs, row.by_run, row.pairs or None, row.pooled, row.queries_used or None, row.by_query
    ]  # fmt: skip


def _type_table(result: ConditionAgreement, decimals: int) -> Table:
    means = [f"mean, {condition.name}" for condition in (result.first, result.second)]
    rows: list[list[Cell]] = [
        [metric, agreement.run_type, *agreement.means.get(metric, (None, None)), *_cells(row)]
        for metric in result.metrics
        for agreement in result.by_type
        for row in [agreement.metrics[metric]]
    ]
    return Table(["metric", "run type", *means, *_COLUMNS], rows, "By run type", decimals)


def _unmatched_notes(first: Condition, second: Condition) -> list[str]:
    left, right = first.evaluation.systems, second.evaluation.systems
    return [
        f"Only in {name}: {', '.join(only)}."
        for only, name in (
            ([s for s in left if s not in right], first.name),
            ([s for s in right if s not in left], second.name),
        )
        if only
    ]


def conditions_picture(result: ConditionAgreement, types: Mapping[str, str]) -> Picture:
    """The scores of two conditions by the first metric, with Kendall's τ (figure 6)."""
    metric = NUGGET_METRICS[0]
    row = result.metrics[metric]
    taus = [("run", row.by_run), ("all query/run pairs", row.pooled), ("per query, averaged", row.by_query)]
    return clouds(
        _clouds(condition_points(result.first, result.second, metric), types),
        f"{metric}, {result.first.name}",
        f"{metric}, {result.second.name}",
        f"{metric} in two conditions",
        remarks=[f"τ {name}: {tau:.3f}" for name, tau in taus if tau is not None],
    )


def length_picture(condition: Condition, types: Mapping[str, str]) -> Picture:
    """The scores by the first metric against answer length, with the Pareto front of the runs (figure 7)."""
    metric = NUGGET_METRICS[0]
    points = length_points(condition, metric)
    return clouds(
        _clouds(points, types),
        f"{LENGTH}: words of the answer",
        f"{metric}, {condition.name}",
        f"{metric} against answer length",
        front=[points.runs[run] for run in points.front],
    )


def _clouds(points: Points, types: Mapping[str, str]) -> list[Cloud]:
    """One cloud of points for each type of run; RAG comes first, as in the paper."""
    types = renamed(types, matched_names(list(points.runs), types))
    run_types = sorted(
        {types.get(run, "") for run in points.runs},
        key=lambda run_type: (run_type != "RAG", run_type == "", run_type),
    )
    return [
        Cloud(
            run_type,
            {run: point for run, point in points.runs.items() if types.get(run, "") == run_type},
            [point for (run, _), point in points.queries.items() if types.get(run, "") == run_type],
        )
        for run_type in run_types
    ]
