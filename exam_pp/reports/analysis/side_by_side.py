"""Report of several leaderboards side by side, each scaled from 0 to 1: a table and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exam_pp.phases.analysis.side_by_side import ComparedLeaderboards
from exam_pp.rendering import plots
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.analysis.notes import unmatched_notes


def compared_report(result: ComparedLeaderboards, *, decimals: int = 3) -> Report:
    """A table with a row for every system and a column for every leaderboard, scaled from 0 to 1."""
    from exam_pp.metrics.correlation import int_if_whole, min_max_scaled  # noqa: PLC0415 - scipy is slow to import

    scaled = [min_max_scaled(scores) for scores in result.leaderboards.values()]
    rows: list[list[Cell]] = []
    for system in result.order:
        rank: list[Cell] = [int_if_whole(result.ranks.get(system))] if result.ranks else []
        rows.append([system, *rank, *(scores.get(system) for scores in scaled)])
    columns = ["system", *(["official rank"] if result.ranks else []), *result.leaderboards]
    notes = ["Scores are scaled: the best system of each leaderboard has 1, the worst 0."]
    if result.ranks:
        notes += unmatched_notes(result.order, result.ranks, "the leaderboards", "the official ranks")
    return Report(
        "Comparison of leaderboards",
        [Table(columns, rows, decimals=decimals), *map(Paragraph, notes)],
        result.provenance,
    )


def compared_figure(
    leaderboards: Mapping[str, Mapping[str, float]],
    order: Sequence[str],
    standard_errors: Mapping[str, Mapping[str, float]] | None = None,
) -> plots.Drawing:
    """A line plot of leaderboards, scaled from 0 to 1, over systems in ``order``, with standard errors."""
    from exam_pp.metrics.correlation import min_max_scaled  # noqa: PLC0415 - scipy is slow to import

    scaled = {name: min_max_scaled(scores) for name, scores in leaderboards.items()}
    bars: dict[str, dict[str, float]] = {}
    for name, errors in (standard_errors or {}).items():
        spread = max(leaderboards[name].values()) - min(leaderboards[name].values())
        bars[name] = {system: error / spread for system, error in errors.items()} if spread else {}
    return plots.scaled_leaderboards(scaled, order, bars), (max(7.0, 2.0 + 0.2 * len(order)), 4.5)
