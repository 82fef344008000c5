"""Several leaderboards side by side, each scaled to 0..1: a table and a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from exam_pp.phases.analysis.side_by_side import ComparedLeaderboards
from exam_pp.rendering import plots
from exam_pp.rendering.document import Cell, Paragraph, Report, Table
from exam_pp.reports.analysis.notes import one_sided


def compared_report(found: ComparedLeaderboards, *, decimals: int = 3) -> Report:
    """A row a system, a column a board, in 0..1."""
    from exam_pp.metrics.correlation import min_max_scaled, whole  # noqa: PLC0415 - scipy is slow to import

    scaled = [min_max_scaled(board) for board in found.boards.values()]
    rows: list[list[Cell]] = []
    for system in found.order:
        rank: list[Cell] = [whole(found.ranks.get(system))] if found.ranks else []
        rows.append([system, *rank, *(board.get(system) for board in scaled)])
    columns = ["system", *(["official rank"] if found.ranks else []), *found.boards]
    notes = ["Scores are scaled: each board's best system has 1, its worst 0."]
    if found.ranks:
        notes += one_sided(found.order, found.ranks, "the leaderboards", "the official ranks")
    return Report("Leaderboards compared", [Table(columns, rows, decimals=decimals), *map(Paragraph, notes)])


def compared_figure(
    boards: Mapping[str, Mapping[str, float]],
    order: Sequence[str],
    errors: Mapping[str, Mapping[str, float]] | None = None,
) -> plots.Drawing:
    """Several leaderboards scaled to 0..1 over the systems in one order, with their standard errors."""
    from exam_pp.metrics.correlation import min_max_scaled  # noqa: PLC0415 - scipy is slow to import

    scaled = {name: min_max_scaled(scores) for name, scores in boards.items()}
    bars: dict[str, dict[str, float]] = {}
    for name, of_board in (errors or {}).items():
        spread = max(boards[name].values()) - min(boards[name].values())
        bars[name] = {system: error / spread for system, error in of_board.items()} if spread else {}
    return plots.compared(scaled, order, bars), (max(7.0, 2.0 + 0.2 * len(order)), 4.5)
