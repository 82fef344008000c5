"""Nuggets without importance have no scores that are 0 for every answer."""

from __future__ import annotations

from exam_pp.metrics.measures import NUGGET_METRICS
from exam_pp.phases.evaluation.nugget_leaderboard import Condition, nugget_leaderboard
from exam_pp.phases.evaluation.nugget_scores import ALL_NUGGETS
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.results import Score


def test_the_leaderboard_is_sorted_by_a() -> None:
    values = {"bad": 0.25, "good": 0.75}
    scores = [
        Score(system, "q", metric, value if metric[0] == "A" else 0.0)
        for system, value in values.items()
        for metric in NUGGET_METRICS
    ]
    sanity = [Score(ALL_NUGGETS, "q", metric, float(metric[0] == "A")) for metric in NUGGET_METRICS]
    board = nugget_leaderboard([Condition("judge", Evaluation(scores), sanity)])

    assert board.conditions[0][1].metrics == ["A_strict", "A"]
    assert board.systems == ["good", "bad"]
