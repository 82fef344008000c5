"""Means, standard errors and distributions of scores."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.leaderboard import Standing, distribution, exact_mean, standings
from exam_pp.results import ALL_QUERIES, Score

SHARES = st.tuples(st.integers(0, 30), st.integers(1, 30)).map(lambda pair: Fraction(min(pair), max(pair)))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        (
            {"1": 0.0, "2": 0.5, "3": 1.0, "4": 1.0},
            Standing("s", "m", 0.625, statistics.stdev([0, 0.5, 1, 1]) / 2, 4),
        ),
        ({"1": 0.3}, Standing("s", "m", 0.3, None, 1)),
        ({"1": 3, "2": 4, ALL_QUERIES: 7}, Standing("s", "m", 7, None, 2)),
        ({"1": 1e308, "2": 1.5e308}, Standing("s", "m", 1.25e308, 0.25e308, 2)),
    ],
    ids=["four queries", "one query", "a total of the metric", "squares are no floats"],
)
def test_mean_and_standard_error(scores: dict[str, float], expected: Standing) -> None:
    """Standard deviation with ddof 1 over the square root of n, as in the published leaderboards."""
    (row,) = standings(Score("s", query, "m", value) for query, value in scores.items())
    assert row[:2] == expected[:2]
    assert row[2:] == pytest.approx(expected[2:])


@given(st.lists(SHARES, min_size=1, max_size=60), st.randoms())
def test_the_mean_of_shares_is_exact_whatever_their_order(shares: list[Fraction], random: object) -> None:
    values = [float(share) for share in shares]
    random.shuffle(values)  # type: ignore[attr-defined]

    assert exact_mean(values) == float(sum(shares) / len(shares))


SCORES = st.lists(st.floats(-1e6, 1e6) | st.sampled_from([0.0, 0.1, 1 / 3, 1.0]), min_size=1, max_size=40)


@given(SCORES)
def test_quartiles_are_those_of_numpy(values: list[float]) -> None:
    result = distribution(values)
    quartiles = (result.low, result.lower_quartile, result.median, result.upper_quartile, result.high)
    assert quartiles == pytest.approx(tuple(np.percentile(values, [0, 25, 50, 75, 100])), rel=1e-9, abs=1e-9)
    assert result.mean == pytest.approx(np.mean(values), rel=1e-9, abs=1e-9)
    assert result.count == len(values)


@given(SCORES)
def test_every_score_is_inside_the_whiskers_or_an_outlier(values: list[float]) -> None:
    result = distribution(values)
    low, high = result.whiskers
    inside = [value for value in values if low <= value <= high]
    assert {low, high} <= set(values)
    assert sorted([*inside, *result.outliers]) == sorted(values)
    reach = 1.5 * (result.upper_quartile - result.lower_quartile) * (1 + 1e-9)
    assert high <= result.upper_quartile + reach + 1e-9
    assert low >= result.lower_quartile - reach - 1e-9


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 1e308, -5e-324])
@pytest.mark.parametrize("count", [1, 2, 3, 7])
def test_equal_scores_have_no_outliers(value: float, count: int) -> None:
    """Rounding errors of quartiles would move the box away from the scores."""
    result = distribution([value] * count)
    assert (result.mean, result.median) == (value, value)
    assert result.whiskers == (value, value)
    assert not result.outliers


def test_whiskers_end_at_a_score() -> None:
    """The box is from 2 to 4, so the fences are at -1 and 7."""
    result = distribution([-1, 2, 3, 4, 7.1])
    assert (result.lower_quartile, result.upper_quartile) == (2, 4)
    assert list(result.whiskers) == [-1, 4]
    assert list(result.outliers) == [7.1]


@pytest.mark.parametrize("values", [[], [0.5, math.nan], [math.inf]])
def test_values_must_be_finite(values: list[float]) -> None:
    with pytest.raises(ValueError, match="finite"):
        distribution(values)
