"""Reports of rank correlations: tables, and a picture of scores against official ranks."""

from __future__ import annotations

from collections.abc import Mapping

from exam_pp.metrics.uncertainty import few_units_note
from exam_pp.phases.analysis.correlation import Correlations, QueryCorrelations
from exam_pp.phases.evaluation.system_names import renamed
from exam_pp.rendering.document import Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.points import Point, scatter
from exam_pp.reports.analysis.notes import COEFFICIENTS, formatted_interval, measure_notes, unmatched_notes
from exam_pp.results import ALL_QUERIES


def correlation_report(result: Correlations, *, decimals: int = 4) -> Report:
    """One row for every measure, with notes on systems that are on one side only."""
    columns = ["measure", "systems"]
    for name in COEFFICIENTS:
        columns += [name.format(result.top)] + (
            [f"{name.format(result.top)} interval"] if result.resampled else []
        )
    rows: list[list[Cell]] = []
    for item in result.measures:
        row: list[Cell] = [item.measure, item.correlation.systems]
        for index, value in enumerate(item.correlation[1:]):
            row.append(value)
            if result.resampled:
                row.append(formatted_interval(item.intervals[index], decimals))
        rows.append(row)
    notes = measure_notes(result.official)
    notes += [f"{official_name} is matched with {name}." for official_name, name in result.matched.items()]
    if any(item.correlation.spearman is None for item in result.measures):
        notes.append("A correlation is undefined (empty) if all systems are tied on one side.")
    if result.resampled:
        notes.append(
            f"Intervals: 95 %, {result.samples} bootstrap samples of {result.resampled} (seed {result.seed})."
            f" {few_units_note(result.resampled)}"
        )
    systems = {system for scores in result.scores.values() for system in scores}
    ranks = renamed(result.official.ranks, result.matched)
    notes += unmatched_notes(systems, ranks, result.leaderboard, result.official.source)
    return Report(
        "Leaderboard correlation",
        [Table(columns, rows, decimals=decimals), *map(Paragraph, notes)],
        result.provenance,
    )


def query_correlation_report(result: QueryCorrelations, *, decimals: int = 4) -> Report:
    """One row for every measure and query, and a row ``all`` with the means for every measure."""
    rows: list[list[Cell]] = []
    for measure, queries in result.queries.items():
        rows += [[measure, query_id, *row] for query_id, row in queries.items()]
        rows.append([measure, ALL_QUERIES, None, *result.means[measure]])
    notes = [
        f"Official scores: {result.reference} of {result.official}.",
        "all: the mean over the queries for which the coefficient is defined.",
    ]
    names = [name.format(result.top) for name in COEFFICIENTS]
    table = Table(["measure", "query", "systems", *names], rows, decimals=decimals)
    return Report("Correlation by query", [table, *map(Paragraph, notes)], result.provenance)


def rank_picture(scores: Mapping[str, float], ranks: Mapping[str, float], measure: str) -> Picture:
    """The scores of systems against their official ranks."""
    from exam_pp.metrics.correlation import approximate_ranks  # noqa: PLC0415 - scipy is slow to import

    approximate = approximate_ranks(scores, ranks)
    points = [
        Point(system, ranks.get(system, approximate.get(system)), score, system in approximate)
        for system, score in scores.items()
    ]
    mark = "approximate rank" if approximate else ""
    return scatter(points, "official rank", measure, f"{measure} against official ranks", mark=mark)
