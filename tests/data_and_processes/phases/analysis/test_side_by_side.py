"""Leaderboards side by side: scaled scores, official order, standard errors."""

from __future__ import annotations

from pathlib import Path

from exam_pp.phases.analysis.correlation import compare_leaderboards
from exam_pp.rendering.document import Table
from exam_pp.reports.analysis.correlation import compared_report


def test_published_leaderboard_of_dl20(shared_data: Path) -> None:
    """Every column has a 0 and a 1, and 59 systems are in the order of their official ranks."""
    folder = shared_data / "dl20"
    result = compare_leaderboards([folder / "dl20-qrels.csv"], folder / "official_DL20_Leaderboard.json")
    table = compared_report(result).blocks[0]
    assert isinstance(table, Table)

    assert len(table.rows) == 59
    assert [row[1] for row in table.rows] == sorted(result.ranks.values())
    columns = list(zip(*table.rows, strict=True))[2:]
    assert {(min(column), max(column)) for column in columns} == {(0.0, 1.0)}
