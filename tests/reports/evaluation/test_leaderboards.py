"""Leaderboards as tables and text layouts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.formats.scores import published_cover
from exam_pp.phases.evaluation.leaderboards import leaderboard
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.rendering.document import Paragraph, Report, Table
from exam_pp.rendering.render import render
from exam_pp.reports.evaluation.leaderboards import leaderboard_report, per_query_report
from exam_pp.reports.evaluation.score_layouts import official_json
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score

EVALUATION = Evaluation(
    [Score(s, q, "RR", v) for s, q, v in [("a", "1", 0.5), ("a", "2", 1.0), ("b", "1", 1.0), ("b", "2", 0.5)]]
    + [Score(OVERALL_SYSTEM, q, "RR", 1.0) for q in "12"],
    ["A note."],
)


def rows_of(report: Report) -> list[dict[str, Any]]:
    (table,) = [block for block in report.blocks if isinstance(block, Table)]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def notes_of(report: Report) -> str:
    return " ".join(block.text for block in report.blocks if isinstance(block, Paragraph))


def test_a_score_of_all_queries_alone_is_no_mean_over_queries() -> None:
    """A rating of players, say."""
    scores = [Score("b", ALL_QUERIES, "Elo", 969.5), Score("a", ALL_QUERIES, "Elo", 1030.5)]
    report = leaderboard_report(leaderboard(Evaluation(scores, ["3,000 games."])), "Games")
    assert render(report, "text").splitlines() == [
        "Games", "", "system  Elo", "------  --------", "a       1030.500", "b       969.500", "",
        "3,000 games.",
    ]  # fmt: skip


def test_the_leaderboard_is_best_first_and_carries_the_notes() -> None:
    report = leaderboard_report(leaderboard(EVALUATION), "Title", for_people=False)

    assert [row["system"] for row in rows_of(report)] == ["a", "b", OVERALL_SYSTEM]
    assert rows_of(report)[0] == {"system": "a", "RR": 0.75, "RR stderr": 0.25}
    assert rows_of(leaderboard_report(leaderboard(EVALUATION), "Title"))[0] == {
        "system": "a",
        "RR": "0.750 ± 0.250",
    }
    assert "A note." in notes_of(report)


def test_tied_systems_are_in_the_order_of_their_names() -> None:
    tied = Evaluation([Score(s, "q", "RR", 0.5) for s in ("b", "c", "a")])

    assert [row["system"] for row in rows_of(leaderboard_report(leaderboard(tied), ""))] == ["a", "b", "c"]


def test_per_query_rows_end_with_the_mean() -> None:
    rows = rows_of(per_query_report(EVALUATION, ""))

    assert [row["query"] for row in rows] == ["1", "2", "all"] * 3
    assert rows[2] == {"system": "a", "query": "all", "measure": "RR", "value": 0.75}


def test_the_published_cover_board() -> None:
    """Three decimals, sorted by name, as the published implementation writes it."""
    lines = published_cover(EVALUATION.scores).splitlines()

    assert lines[:2] == ["method\tExamCover\t+/-\tstd-err", f"{OVERALL_SYSTEM}\t1.000\t+/-\t0.000"]
    assert lines[2] == "a\t0.750\t+/-\t0.250"


def test_official_ranks_average_ties_and_leave_out_the_upper_bound() -> None:
    assert json.loads(official_json(EVALUATION)) == {"a": 1.5, "b": 1.5}


def test_official_ranks_need_one_measure() -> None:
    two = Evaluation([*EVALUATION.scores, Score("a", "1", "AP", 1.0)])

    with pytest.raises(SelectionError, match="one measure"):
        official_json(two)
