"""Report of several leaderboards side by side, each scaled from 0 to 1: a table and a picture."""

from __future__ import annotations

from exam_pp.phases.analysis.side_by_side import ComparedLeaderboards
from exam_pp.rendering.document import Cell, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.points import Line, lines
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


def compared_picture(result: ComparedLeaderboards) -> Picture:
    """The scaled leaderboards as lines over the systems, with standard errors (EXAM++, figure 2)."""
    from exam_pp.metrics.correlation import min_max_scaled  # noqa: PLC0415 - scipy is slow to import

    drawn = []
    for name, scores in result.leaderboards.items():
        spread = max(scores.values()) - min(scores.values())
        errors = result.standard_errors.get(name, {}) if spread else {}
        scaled = {system: error / spread for system, error in errors.items() if system in scores}
        drawn.append(Line(name, min_max_scaled(scores), scaled))
    return lines(drawn, result.order, "system", "score, min-max scaled", "Comparison of leaderboards")
