"""Ranks that differences of ratings leave open."""

from __future__ import annotations

import numpy as np
import pytest

from exam_pp.metrics.significance import rating_ranks


@pytest.mark.parametrize(("queries", "ranks"), [(5, [(1, 2), (1, 2)]), (6, [(1, 1), (2, 2)])])
def test_without_spread_the_number_of_queries_decides(queries: int, ranks: list[tuple[int, int]]) -> None:
    """The smallest p-value of an exact test on n queries is 2^(1 − n): 0.0625 and 0.03125."""
    assert rating_ranks(np.array([2.0, 1.0]), np.tile([2.0, 1.0], (9, 1)), queries) == ranks


def test_ranks_follow_differences_and_not_single_ratings() -> None:
    """a and b vary together, so their difference is certain; c overlaps with both."""
    rng = np.random.default_rng(1)
    together, alone = 50 * rng.normal(size=(2, 4000))
    samples = np.column_stack([1030 + together, 1000 + together + rng.normal(size=4000), 970 + alone])
    assert rating_ranks(np.array([1030.0, 1000.0, 970.0]), samples, 30) == [(1, 2), (2, 3), (1, 3)]


def test_equal_ratings_share_all_ranks() -> None:
    samples = np.random.default_rng(2).normal(size=(100, 3))
    assert rating_ranks(np.zeros(3), samples, 40) == [(1, 3)] * 3
