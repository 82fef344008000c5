"""Leaderboards as tables and text layouts."""

from __future__ import annotations

import json
import re

import pytest

from exam_pp.errors import SelectionError
from exam_pp.phases.evaluation.leaderboards import Statistics, leaderboard
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.provenance import Provenance
from exam_pp.rendering.render import render
from exam_pp.reports.evaluation.leaderboards import (
    leaderboard_picture,
    leaderboard_pictures,
    leaderboard_report,
    official_json,
    published_leaderboard,
)
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score
from tests.tables import notes_of, rows_of

EVALUATION = Evaluation(
    [Score(s, q, "RR", v) for s, q, v in [("a", "1", 0.5), ("a", "2", 1.0), ("b", "1", 1.0), ("b", "2", 0.5)]]
    + [Score(OVERALL_SYSTEM, q, "RR", 1.0) for q in "12"],
    ["A note."],
)


def test_a_total_is_not_a_mean_over_queries() -> None:
    """For example a rating of players."""
    scores = [Score("b", ALL_QUERIES, "Elo", 969.5), Score("a", ALL_QUERIES, "Elo", 1030.5)]
    report = leaderboard_report(leaderboard(Evaluation(scores, ["3,000 games."])), "Games")
    assert render(report, "text").splitlines() == [
        "Games", "", "system  Elo", "------  --------", "a       1030.500", "b       969.500", "",
        "3,000 games.",
    ]  # fmt: skip


def test_the_leaderboard_is_best_first_and_carries_the_notes() -> None:
    report = leaderboard_report(leaderboard(EVALUATION), "Title", audience="scripts")

    assert [row["system"] for row in rows_of(report)] == ["a", "b", OVERALL_SYSTEM]
    assert rows_of(report)[0] == {"system": "a", "RR": 0.75, "RR stderr": 0.25}
    assert rows_of(leaderboard_report(leaderboard(EVALUATION), "Title"))[0] == {
        "system": "a",
        "RR": "0.750 ± 0.250",
    }
    assert "A note." in notes_of(report)


def test_readers_see_shares_in_percent_and_the_upper_bound_in_a_sentence() -> None:
    """Other audiences get fractions and a row of the bound; a count and nDCG stay as they are."""
    values = {"Cover(min_grade=4)@5": 0.25, "nCover(min_grade=4)@5": 0.5, "nDCG@10": 0.5, "NumRet": 3.0}
    scores = [Score(s, "1", metric, v) for metric, v in values.items() for s in ("a", OVERALL_SYSTEM)]
    of_questions = Provenance(prompt_classes=("QuestionSelfRatedUnanswerablePromptWithChoices",))
    standings = leaderboard(Evaluation(scores, provenance=of_questions))

    report = leaderboard_report(standings, "")
    assert rows_of(report) == [
        {
            "system": "a",
            "Cover(min_grade=4)@5 %": "25.0",
            "nCover(min_grade=4)@5 %": "50.0",
            "nDCG@10": "0.500",
            "NumRet": "3.000",
        }
    ]
    assert "Upper bound: 25.0 % of the questions are answered by any passage." in notes_of(report)
    rows = rows_of(leaderboard_report(standings, "", audience="papers"))
    assert [list(row.values()) for row in rows] == [
        [system, "0.250", "0.500", "0.500", "3.000"] for system in ("a", OVERALL_SYSTEM)
    ]


def test_pictures_show_the_systems_without_the_upper_bound() -> None:
    drawn = {picture.title: picture for picture in leaderboard_pictures(leaderboard(EVALUATION))}

    assert {title: picture.description for title, picture in drawn.items()} == {
        "Systems by RR": "2 systems by RR. Best: a, 0.750 [0.500, 1.000]. Worst: b, 0.750 [0.500, 1.000].",
        "RR by system and query": "RR of 2 systems on 2 queries, from 0.5 to 1. Best system: a, mean 0.750. "
        "Easiest query: 1, mean 0.750. Hardest query: 2, mean 0.750.",
    }
    assert "± standard error" in drawn["Systems by RR"].caption
    statistics = Statistics(intervals="queries", samples=100)
    (intervals, _) = leaderboard_pictures(leaderboard(EVALUATION, statistics))
    assert "95 % intervals over queries" in intervals.caption
    assert "bootstrap" not in intervals.caption


def test_the_published_leaderboard_of_cover() -> None:
    """Three decimals, sorted by name, as the published implementation writes it."""
    lines = published_leaderboard(EVALUATION).splitlines()

    assert lines[:2] == ["method\tExamCover\t+/-\tstd-err", f"{OVERALL_SYSTEM}\t1.000\t+/-\t0.000"]
    assert lines[2] == "a\t0.750\t+/-\t0.250"


def test_official_ranks_average_ties_and_leave_out_the_upper_bound() -> None:
    assert json.loads(official_json(EVALUATION)) == {"a": 1.5, "b": 1.5}


def test_official_ranks_need_one_measure() -> None:
    two_measures = Evaluation([*EVALUATION.scores, Score("a", "1", "AP", 1.0)])

    with pytest.raises(SelectionError, match=r"-m .*RR, AP"):
        official_json(two_measures)


def test_the_figure_has_the_best_system_on_top() -> None:
    board = Evaluation(
        [Score(s, q, "RR", v) for s, v in (("b", 0.5), ("a", 0.5), ("best", 0.75)) for q in "12"]
    )
    picture = leaderboard_picture(leaderboard(board, Statistics(samples=100).intervals_only))
    assert re.findall(r">(best|a|b)</text>", picture.shapes) == ["best", "a", "b"]
