"""Intervals of means and of resampled statistics: equal to scipy, and invariants."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import sem, t

from exam_pp.metrics.uncertainty import (
    expanded_tail,
    intervals,
    mean_interval,
    score_matrices,
)
from exam_pp.results import ALL_QUERIES, Score


def random_scores(systems: int, queries: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).random((systems, queries))


def test_rows_become_a_matrix_without_totals() -> None:
    scores = [Score("a", "1", "m", 0.5), Score("b", "2", "m", 1.0), Score("a", ALL_QUERIES, "m", 9)]
    matrix = score_matrices(scores)["m"]

    assert (matrix.systems, matrix.query_ids) == (["a", "b"], ["1", "2"])
    assert matrix.values == pytest.approx(np.array([[0.5, np.nan], [np.nan, 1.0]]), nan_ok=True)
    assert matrix.everywhere.tolist() == [False, False]


@pytest.mark.parametrize(("units", "tail"), [(5, 0.00095), (8, 0.00574), (12, 0.01076), (1000, 0.02480)])
def test_expanded_tails(units: int, tail: float) -> None:
    """Hesterberg (2015): Φ(√(n / (n − 1)) t), such as 0.57 % for 8 queries."""
    assert expanded_tail(units) == pytest.approx(tail, abs=2e-5)


@pytest.mark.parametrize(
    ("samples", "units", "exists"),
    [
        (random_scores(1, 1000).T, 4, False),
        (random_scores(1, 1000).T, 5, False),  # the tails have less than one of 1,000 samples
        (random_scores(1, 1000).T, 6, True),
        (np.ones((1000, 1)), 20, False),
        (np.full((1000, 1), np.nan), 20, False),
    ],
    ids=["4 units", "5 units", "6 units", "equal", "undefined"],
)
def test_no_interval_promises_more_than_the_samples_give(
    samples: np.ndarray, units: int, exists: bool
) -> None:
    assert (intervals(samples, units) != [None]) == exists


def test_the_interval_of_scores_without_a_range_is_that_of_scipy() -> None:
    values = [0.5, 2.0, 3.5, 1.0, -4.0, 9.0, 2.5]
    expected = t.interval(0.9, 6, np.mean(values), sem(values))
    assert mean_interval([*values, np.nan], None, confidence=0.9) == pytest.approx(expected)
