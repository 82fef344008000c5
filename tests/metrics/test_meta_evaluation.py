"""Kendall's τ over runs, over query/run pairs, and by query."""

from __future__ import annotations

import pytest

from exam_pp.metrics.correlation import kendall, meta_evaluation

CELLS = [("a", "1"), ("b", "1"), ("c", "1"), ("a", "2"), ("b", "2"), ("c", "2")]


def test_three_levels_differ() -> None:
    """By hand: three runs, two queries; the second side orders query 2 in reverse."""
    first = dict(zip(CELLS, [0.9, 0.5, 0.1, 0.6, 0.4, 0.2], strict=True))
    second = dict(zip(CELLS, [0.8, 0.6, 0.0, 0.1, 0.2, 0.3], strict=True))
    first_means, second_means = (
        {run: sum(side[run, query] for query in "12") / 2 for run in "abc"} for side in (first, second)
    )
    result = meta_evaluation(first_means, second_means, first, second)

    assert (result.runs, result.pairs, result.queries, result.queries_used) == (3, 6, 2, 2)
    assert result.by_run == 1
    assert result.by_query == 0, "1 on the first query, -1 on the second"
    # Of 15 pairs of cells 11 agree, and 4 do not (the second cell of run a is low).
    assert result.pooled == pytest.approx((11 - 4) / 15)


def test_only_common_runs_and_queries_count() -> None:
    first = {("a", "1"): 1.0, ("b", "1"): 0.0, ("c", "1"): 0.5, ("a", "2"): 1.0, ("b", "2"): 1.0}
    second = {("a", "1"): 1.0, ("b", "1"): 0.0, ("a", "2"): 1.0, ("b", "2"): 0.0, ("d", "1"): 1.0}
    result = meta_evaluation({"a": 1.0, "b": 0.5, "c": 0.5}, {"a": 1.0, "b": 0.0, "d": 1.0}, first, second)

    assert (result.runs, result.pairs, result.queries, result.queries_used) == (2, 4, 2, 1)
    assert result.by_query == 1, "the query that one side ties is left out"


def test_without_queries() -> None:
    result = meta_evaluation({"a": 1.0, "b": 0.5}, {"a": 0.1, "b": 0.2}, {}, {})
    assert (result.by_run, result.pooled, result.by_query) == (-1, None, None)


def test_ties_of_all_runs_on_a_side_give_none() -> None:
    assert kendall([1, 1], [1, 2]) is None
    assert kendall([], []) is None
