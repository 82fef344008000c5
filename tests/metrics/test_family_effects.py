"""Advantages of families: numbers by hand, and scales that do not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.family_effects import advantage, difference_in_differences
from exam_pp.metrics.uncertainty import expanded_tail

OWN = [True, False, False]
GRADER = [[0.9, 0.7], [0.5, 0.3], [0.1, 0.5]]
PEOPLE = [[1, 1], [3, 1], [2, 0]]
SCORES = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3)


def test_numbers_by_hand() -> None:
    """Means 0.8, 0.4, 0.3; mean 0.5 and standard deviation sqrt(0.14 / 3)."""
    found = advantage(GRADER, OWN)
    assert found[:3] == pytest.approx((0.8, 0.35, 1))
    assert found.standardised == pytest.approx(0.45 / (0.14 / 3) ** 0.5)
    people = advantage(PEOPLE, OWN)
    assert people[:3] == pytest.approx((1, 1.5, 2.5)), "tied with the last system"
    compared = difference_in_differences(GRADER, PEOPLE, OWN)
    assert compared.difference == pytest.approx(0.45 / (0.14 / 3) ** 0.5 + 0.5 / (2 / 9) ** 0.5)


def test_the_interval_is_that_of_resampled_queries() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 4, 14))
    own = np.array([True, False, True, False])
    found = difference_in_differences(first.tolist(), second.tolist(), own.tolist(), samples=200, seed=4)
    values = []
    for count in np.random.default_rng(4).multinomial(14, np.full(14, 1 / 14), size=200):
        drawn = [n for n in range(14) for _ in range(count[n])]
        gaps = []
        for scores in (first, second):
            means = scores[:, drawn].mean(axis=1)
            gaps.append((means[own].mean() - means[~own].mean()) / means.std())
        values.append(gaps[0] - gaps[1])
    tail = expanded_tail(14)
    assert found.interval == pytest.approx(tuple(np.quantile(values, [tail, 1 - tail])))


@given(SCORES, st.integers(1, 5), st.integers(-5, 5))
def test_scales_do_not_matter(scores: list[list[int]], factor: int, shift: int) -> None:
    other = [[factor * score + shift for score in row] for row in scores]
    found = difference_in_differences(scores, other, OWN, samples=100)
    if len({sum(row) for row in scores}) == 1:
        assert found.difference is None
    else:
        assert found.difference == pytest.approx(0, abs=1e-9)
        assert found.interval is None


def test_a_single_query_has_no_interval() -> None:
    assert advantage([[1], [2], [3]], OWN).interval is None
    assert difference_in_differences([[1], [2], [3]], [[3], [1], [1]], OWN).interval is None
