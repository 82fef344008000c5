"""One-sided bounds of a mean drop: textbook numbers, all assignments in plain Python, and error rates."""

from __future__ import annotations

from itertools import product
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from exam_pp.metrics.drops import TOLERANCE, DropTest, drop_bounds, spread_of

SLEEP = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
"""Differences of hours of sleep: Student, "The probable error of a mean", Biometrika 6 (1908)."""

DROPS = st.lists(st.integers(-20, 20).map(lambda value: value / 20), min_size=1, max_size=8)


def test_bounds_of_the_t_test_are_those_of_r() -> None:
    """R, ``t.test(extra ~ group, data = sleep, paired = TRUE)``: interval and p as its help page prints them.

    Both are two-sided there, so each bound is one at 97.5 %, and the p-value is twice the one-sided one.
    """
    bounds = drop_bounds(SLEEP, 0, confidence=0.975)

    assert (bounds.low, bounds.high) == pytest.approx((0.7001142, 2.4598858), abs=1e-7)
    assert bounds.p_above == pytest.approx(0.002833 / 2, abs=5e-7)
    assert bounds.p_within == pytest.approx(1 - 0.002833 / 2, abs=5e-7)


def test_tests_of_a_limit_equal_scipy() -> None:
    bounds = drop_bounds(SLEEP, 1)

    assert bounds.p_above == pytest.approx(ttest_1samp(SLEEP, 1, alternative="greater").pvalue)
    assert bounds.p_within == pytest.approx(ttest_1samp(SLEEP, 1, alternative="less").pvalue)
    interval = ttest_1samp(SLEEP, 1).confidence_interval(0.9)
    assert (bounds.low, bounds.high) == pytest.approx((interval.low, interval.high))


def p_of_all_signs(drops: list[float], limit: float) -> tuple[float, float]:
    """Both p-values of the randomisation test by its definition: flip the signs of the drops − limit."""
    centred = [drop - limit for drop in drops]
    observed = sum(centred)
    totals = [
        sum(sign * value for sign, value in zip(signs, centred, strict=True))
        for signs in product([1, -1], repeat=len(drops))
    ]
    above = sum(total >= observed - 1e-9 for total in totals) / len(totals)
    return above, sum(total <= observed + 1e-9 for total in totals) / len(totals)


@given(DROPS, st.sampled_from([-0.3, 0.0, 0.02, 0.25]))
def test_the_randomisation_test_flips_signs(drops: list[float], limit: float) -> None:
    bounds = drop_bounds(drops, limit, test="randomisation")

    assert (bounds.p_above, bounds.p_within) == pytest.approx(p_of_all_signs(drops, limit))


@given(DROPS)
def test_bounds_agree_with_the_randomisation_test(drops: list[float]) -> None:
    """A limit just below the lower bound is rejected, and one just above it is not; and the reverse."""
    bounds = drop_bounds(drops, 0, test="randomisation", confidence=0.9)
    for bound, side, index in ((bounds.low, -1, 0), (bounds.high, 1, 1)):
        if bound is None:
            assert 2 ** -len(drops) > 0.1
        else:
            assert p_of_all_signs(drops, bound + side * 1e-6)[index] <= 0.1 + 1e-9
            assert p_of_all_signs(drops, bound - side * 1e-6)[index] > 0.1


def test_sampled_signs_are_close_to_all_signs_and_repeatable() -> None:
    """14 queries have 16,384 assignments."""
    drops = np.random.default_rng(2).normal(0.05, 0.1, 14).tolist()
    exact = drop_bounds(drops, 0.02, test="randomisation", samples=20_000)
    sampled = drop_bounds(drops, 0.02, test="randomisation", samples=10_000)

    assert sampled == pytest.approx(exact, abs=0.02)
    assert sampled != exact
    assert sampled == drop_bounds(drops, 0.02, test="randomisation", samples=10_000)
    assert sampled != drop_bounds(drops, 0.02, test="randomisation", samples=10_000, seed=1)


@pytest.mark.parametrize("test", ["t", "randomisation"])
def test_a_limit_is_exceeded_by_chance_as_often_as_stated(test: DropTest) -> None:
    """1,000 seeded draws with a true drop at the limit: about 5 % show a larger one, and 5 % a smaller one.

    A binomial count of 1,000 with p = 0.05 is between 32 and 68 with probability 0.99.
    """
    draws = np.random.default_rng(7).normal(0.02, 0.1, size=(1000, 30))
    found = [drop_bounds(row, 0.02, test=test, samples=500) for row in draws.tolist()]

    for p_values in ([row.p_above for row in found], [row.p_within for row in found]):
        assert 32 <= sum(p is not None and p <= 0.05 for p in p_values) <= 68
    assert 32 <= sum(row.low is not None and row.low > 0.02 for row in found) <= 68


def test_skewed_drops_double_one_error_rate() -> None:
    """As docs/how-to/gate.md says: 13 and 97 of 1,000, with exponential drops and a true drop at the limit.

    A binomial count of 1,000 is in these ranges with probability 0.99 for p = 0.013 and p = 0.097.
    """
    draws = np.random.default_rng(7).exponential(0.1, size=(1000, 30)) - 0.08
    found = [drop_bounds(row, 0.02) for row in draws.tolist()]

    assert 5 <= sum(row.p_above is not None and row.p_above <= 0.05 for row in found) <= 23
    assert 74 <= sum(row.p_within is not None and row.p_within <= 0.05 for row in found) <= 122


def test_a_single_query_has_no_bounds() -> None:
    assert drop_bounds([0.4], 0.02) == (None, None, None, None)
    assert drop_bounds([0.4], 0.02, test="randomisation") == (None, None, 0.5, 1.0)
    assert spread_of([0.4]) is None


@pytest.mark.parametrize(("drop", "p_above"), [(0.5 - 0.48, 1), (0.0, 1), (0.021, 0), (-0.3, 1)])
def test_equal_drops_are_their_bounds(drop: float, p_above: int) -> None:
    """0.5 − 0.48 is 0.020000000000000018 as a float, which is no larger drop than 0.02."""
    bounds = drop_bounds([drop] * 3, 0.02)

    assert bounds == pytest.approx((drop, drop, p_above, 1 - p_above), abs=TOLERANCE)
    assert spread_of([0.3 - 0.1, 0.5 - 0.3, 0.2]) == 0


def test_bounds_contain_the_mean() -> None:
    for test in ("t", "randomisation"):
        bounds = drop_bounds(SLEEP, 0, test=test)
        assert bounds.low is not None
        assert bounds.high is not None
        assert bounds.low < mean(SLEEP) < bounds.high
