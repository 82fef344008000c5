"""Intervals, verdicts of the gate and places keep their promises, for made-up scores whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from exam_pp.metrics.planning import plan_queries
from exam_pp.metrics.uncertainty import mean_interval
from scripts.bench.coverage import (
    LAWS,
    contradicts,
    means_of,
    simulated_power,
)

REFERENCE = {
    "Beta(.5, 2)": [(0, 0, 0.7380), (2, 0, 0.5743), (1, 0, 0.4404), (10, 0, 0.2167)],
    "Beta(2, .5)": [(0, 0, 0.7352), (0, 1, 0.5755), (0, 0, 0.4392), (0, 7, 0.2157)],
    "Beta(5, 5)": [(0, 0, 0.7175), (0, 0, 0.5398), (0, 0, 0.3982), (0, 0, 0.1765)],
    "50 % zeros, else Beta(2, 3)": [(1, 0, 0.7459), (3, 0, 0.5909), (3, 0, 0.4607), (5, 0, 0.2356)],
    "85 % zeros, else Beta(2, 2)": [(3, 0, 0.7336), (6, 0, 0.5655), (5, 0, 0.4253), (3, 0, 0.2065)],
    "reciprocal ranks": [(0, 0, 0.7995), (1, 0, 0.6810), (6, 2, 0.5616), (8, 4, 0.3305)],
    "tenths, binomial": [(0, 0, 0.7408), (0, 0, 0.5820), (4, 0, 0.4460), (4, 1, 0.2239)],
    "50 % ones": [(0, 0, 0.8605), (0, 0, 0.7539), (2, 1, 0.6499), (13, 8, 0.4021)],
    "10 % ones": [(0, 0, 0.7596), (3, 0, 0.6086), (3, 0, 0.4698), (6, 0, 0.2579)],
}
"""Of 500 samples of 3, 5, 8 and 25 scores: intervals above and below the mean, and the mean width."""
REFERENCE_QUERIES = (3, 5, 8, 25)


@pytest.mark.parametrize("law", [0, 5, 8])
def test_misses_are_those_of_the_intervals(law: int) -> None:
    found = means_of(law, 8, 20, widths=20)
    scores = LAWS[law].draw(np.random.default_rng([1, law, 8]), (20, 8))
    limits = np.array([mean_interval(row, (0, 1)) for row in scores])

    assert found.above == (limits[:, 0] > LAWS[law].mean).mean()
    assert found.below == (limits[:, 1] < LAWS[law].mean).mean()
    assert found.width == pytest.approx((limits[:, 1] - limits[:, 0]).mean())


@pytest.mark.parametrize(
    ("letters", "ranks", "contradicted"),
    [
        (["a", "b", "b", "a"], [(1, 2), (2, 3), (2, 3), (3, 4)], True),  # 1 and 4, without the closure
        (["a", "b"], [(1, 2), (1, 2)], True),
        (["a", "ab", "b"], [(1, 2), (1, 3), (2, 3)], False),
    ],
)
def test_a_contradiction_is_seen(
    letters: list[str], ranks: list[tuple[int, int]], contradicted: bool
) -> None:
    assert contradicts(letters, ranks) == contradicted


def test_simulated_leaderboards_of_two_have_the_power_of_the_formula() -> None:
    pilot = np.random.default_rng(5).normal(0, 0.1, (2, 400))
    plan = plan_queries(2, pilot)
    assert simulated_power(pilot, plan.needed.queries) == pytest.approx(0.8, abs=0.08)
    assert simulated_power(pilot, 5) == 0
