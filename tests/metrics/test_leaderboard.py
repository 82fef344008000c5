"""Means and standard errors over score rows."""

from __future__ import annotations

import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.leaderboard import Standing, exact_mean, standings
from exam_pp.results import ALL_QUERIES, Score

SHARES = st.tuples(st.integers(0, 30), st.integers(1, 30)).map(lambda pair: Fraction(min(pair), max(pair)))


def test_mean_and_standard_error() -> None:
    """Standard deviation with ddof 1 over the square root of n, as in the published leaderboards."""
    rows = standings(Score("s", str(n), "m", value) for n, value in enumerate([0.0, 0.5, 1.0, 1.0]))

    error = statistics.stdev([0, 0.5, 1, 1]) / 2
    assert rows == [Standing("s", "m", 0.625, pytest.approx(error), 4)]  # type: ignore[arg-type]


def test_one_query_has_no_standard_error() -> None:
    assert standings([Score("s", "1", "m", 0.3)]) == [Standing("s", "m", 0.3, None, 1)]


def test_scores_whose_squares_are_no_floats_have_a_mean_and_an_error() -> None:
    (row,) = standings([Score("s", "1", "m", 1e308), Score("s", "2", "m", 1.5e308)])

    assert (row.mean, row.stderr) == pytest.approx((1.25e308, 0.25e308))


def test_a_total_of_the_metric_is_used() -> None:
    rows = standings([Score("s", "1", "n", 3), Score("s", "2", "n", 4), Score("s", ALL_QUERIES, "n", 7)])

    assert rows == [Standing("s", "n", 7, None, 2)]


@given(st.lists(SHARES, min_size=1, max_size=60), st.randoms())
def test_the_mean_of_shares_is_exact_whatever_their_order(shares: list[Fraction], random: object) -> None:
    values = [float(share) for share in shares]
    random.shuffle(values)  # type: ignore[attr-defined]

    assert exact_mean(values) == float(sum(shares) / len(shares))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60))
def test_the_mean_of_any_values(values: list[float]) -> None:
    assert exact_mean(values) == pytest.approx(statistics.fmean(values))
