"""Rank correlations as tables, and scores against official ranks as a figure."""

from __future__ import annotations

from collections.abc import Mapping

from exam_pp.phases.analysis.correlation import Correlations, QueryCorrelations
from exam_pp.phases.evaluation.system_names import renamed
from exam_pp.rendering import plots
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.analysis.notes import FIGURES, about_ranks, one_sided, shown_interval
from exam_pp.results import ALL_QUERIES

_SIZE = (7.0, 4.5)


def correlation_report(found: Correlations, *, decimals: int = 4) -> Report:
    """One row for every measure; systems on one side only are listed."""
    columns = ["measure", "systems"]
    for name in FIGURES:
        columns += [name.format(found.top)] + (
            [f"{name.format(found.top)} interval"] if found.resampled else []
        )
    rows: list[list[Cell]] = []
    for of in found.measures:
        row: list[Cell] = [of.measure, of.correlation.systems]
        for index, figure in enumerate(of.correlation[1:]):
            row += [figure] + ([shown_interval(of.intervals[index], decimals)] if found.resampled else [])
        rows.append(row)
    notes = about_ranks(found.official)
    notes += [f"{theirs} is taken for {ours}." for theirs, ours in found.matched.items()]
    if any(of.correlation.spearman is None for of in found.measures):
        notes.append("No correlation is shown where one side ties all systems.")
    if found.resampled:
        notes.append(
            f"Intervals: 95 %, {found.samples} bootstrap samples of {found.resampled} (seed {found.seed})."
        )
    systems = {system for board in found.scores.values() for system in board}
    ranks = renamed(found.official.ranks, found.matched)
    notes += one_sided(systems, ranks, found.leaderboard, found.official.source)
    return Report(
        "Leaderboard correlation", [Table(columns, rows, decimals=decimals), *map(Paragraph, notes)]
    )


def query_correlation_report(found: QueryCorrelations, *, decimals: int = 4) -> Report:
    """One row for every measure and query; the row ``all`` of a measure has the means."""
    rows: list[list[Cell]] = []
    for measure, queries in found.queries.items():
        rows += [[measure, query_id, *row] for query_id, row in queries.items()]
        rows.append([measure, ALL_QUERIES, None, *found.means[measure]])
    notes = [
        f"Official scores: {found.reference} of {found.official}.",
        "all: the mean over the queries on which both sides order the systems.",
    ]
    names = [name.format(found.top) for name in FIGURES]
    table = Table(["measure", "query", "systems", *names], rows, decimals=decimals)
    return Report("Correlation by query", [table, *map(Paragraph, notes)])


def rank_figure(scores: Mapping[str, float], ranks: Mapping[str, float], measure: str) -> plots.Drawing:
    """Scores against official ranks."""
    from exam_pp.metrics.correlation import approximate_ranks  # noqa: PLC0415 - scipy is slow to import

    return plots.against_ranks(scores, ranks, approximate_ranks(scores, ranks), measure), _SIZE
