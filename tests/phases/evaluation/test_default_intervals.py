"""Intervals by default: for readers, if there are queries enough to show a difference."""

from __future__ import annotations

import pytest

from exam_pp.phases.evaluation.leaderboards import differences_can_show
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score


def evaluation(systems: int, queries: int) -> Evaluation:
    names = [*(f"s{number}" for number in range(systems)), OVERALL_SYSTEM]
    ids = [*(f"q{number}" for number in range(queries)), ALL_QUERIES]
    return Evaluation([Score(system, query, "m", 0.5) for system in names for query in ids])


@pytest.mark.parametrize(
    ("systems", "queries", "expected"),
    [(2, 6, True), (2, 5, False), (10, 11, True), (10, 10, False), (1, 99, False)],
)
def test_intervals_need_queries(systems: int, queries: int, expected: bool) -> None:
    assert differences_can_show(evaluation(systems, queries)) is expected
