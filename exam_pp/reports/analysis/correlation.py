"""Reports of rank correlations: tables, and a picture of scores against official ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exam_pp.metrics.uncertainty import few_units_note
from exam_pp.phases.analysis.correlation import Correlations, QueryCorrelations
from exam_pp.phases.evaluation.system_names import renamed
from exam_pp.provenance import combined
from exam_pp.rendering.document import Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.points import Point, scatter
from exam_pp.reports.analysis.notes import COEFFICIENTS, formatted_interval, measure_notes, unmatched_notes
from exam_pp.results import ALL_QUERIES


def correlation_report(*results: Correlations, decimals: int = 4) -> Report:
    """One row for every measure of every leaderboard, with notes on systems that are on one side only."""
    first = results[0]
    columns = ["measure", "systems"]
    for name in COEFFICIENTS:
        columns += [name.format(first.top)] + (
            [f"{name.format(first.top)} interval"] if first.resampled else []
        )
    rows: list[list[Cell]] = []
    notes = measure_notes(first.official)
    for result in results:
        for item in result.measures:
            row: list[Cell] = [*_source(result, results), item.measure, item.correlation.systems]
            for index, value in enumerate(item.correlation[1:]):
                row.append(value)
                if result.resampled:
                    row.append(formatted_interval(item.intervals[index], decimals))
            rows.append(row)
        notes += [f"{official} is matched with {name}." for official, name in result.matched.items()]
    if any(item.correlation.spearman is None for result in results for item in result.measures):
        notes.append("A correlation is undefined (empty) if all systems are tied on one side.")
    if first.resampled:
        notes.append(
            f"Intervals: 95 %, {first.samples} bootstrap samples of {first.resampled} (seed {first.seed})."
            f" {few_units_note(first.resampled)}"
        )
    for result in results:
        systems = {system for scores in result.scores.values() for system in scores}
        ranks = renamed(result.official.ranks, result.matched)
        notes += unmatched_notes(systems, ranks, result.leaderboard, result.official.source)
    return _report("Leaderboard correlation", results, columns, rows, notes, decimals)


def query_correlation_report(*results: QueryCorrelations, decimals: int = 4) -> Report:
    """One row for every leaderboard, measure and query, and a row ``all`` with the means over queries."""
    first = results[0]
    rows: list[list[Cell]] = []
    for result in results:
        source = _source(result, results)
        for measure, queries in result.queries.items():
            rows += [[*source, measure, query_id, *row] for query_id, row in queries.items()]
            rows.append([*source, measure, ALL_QUERIES, None, *result.means[measure]])
    notes = [
        f"Official scores: {first.reference} of {first.official}.",
        "all: the mean over the queries for which the coefficient is defined.",
    ]
    columns = ["measure", "query", "systems", *(name.format(first.top) for name in COEFFICIENTS)]
    return _report("Correlation by query", results, columns, rows, notes, decimals)


_Results = Sequence[Correlations] | Sequence[QueryCorrelations]


def _source(result: Correlations | QueryCorrelations, results: _Results) -> list[Cell]:
    """The cell of the leaderboard, if there are several."""
    return [str(result.leaderboard)] if len(results) > 1 else []


def _report(
    title: str,
    results: _Results,
    columns: Sequence[str],
    rows: list[list[Cell]],
    notes: Sequence[str],
    decimals: int,
) -> Report:
    columns = [*(["leaderboard"] if len(results) > 1 else []), *columns]
    origin = combined([result.provenance for result in results])
    return Report(
        title,
        [Table(columns, rows, decimals=decimals), *map(Paragraph, dict.fromkeys(notes))],
        origin,
    )


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
