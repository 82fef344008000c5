"""Reciprocal rank fusion."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.fusion import reciprocal_rank_fusion


def test_sum_of_reciprocal_ranks() -> None:
    """The formula of Cormack, Clarke and Büttcher (SIGIR 2009), by hand."""
    scores = reciprocal_rank_fusion([{"a": 1, "b": 2}, {"b": 1, "c": 3}])
    assert scores == pytest.approx({"a": 1 / 61, "b": 1 / 62 + 1 / 61, "c": 1 / 63})


@given(st.permutations([{"a": 1, "b": 7}, {"a": 7, "b": 3}, {"a": 3, "b": 1}]))
def test_equal_ranks_tie_exactly(rankings: list[dict[str, int]]) -> None:
    scores = reciprocal_rank_fusion(rankings)
    assert scores["a"] == scores["b"]
