"""Leaderboards of scores."""

from __future__ import annotations

from exam_pp.phases.evaluation.leaderboards import leaderboard_report
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.rendering.render import render
from exam_pp.results import ALL_QUERIES, Score


def test_a_score_of_all_queries_alone_is_no_mean_over_queries() -> None:
    """A rating of players, say."""
    scores = [Score("b", ALL_QUERIES, "Elo", 969.5), Score("a", ALL_QUERIES, "Elo", 1030.5)]
    report = leaderboard_report(Evaluation(scores, ["3,000 games."]), "Games")
    assert render(report, "text").splitlines() == [
        "Games", "", "system  Elo", "------  --------", "a       1030.500", "b       969.500", "",
        "3,000 games.",
    ]  # fmt: skip
