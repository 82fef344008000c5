"""Confidence limits of means of bounded scores: exact values, Clopper and Pearson, and properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike
from scipy.stats import beta

from exam_pp.metrics.uncertainty import lower_limit, mean_interval, share_interval, upper_limit

SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def interval(scores: ArrayLike, low: float, high: float) -> tuple[float, float]:
    found = mean_interval(scores, (low, high))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("scores", "low", "high"),
    [
        ([0, 1], 0.012579, 0.987421),
        ([0.5], 0.0125, 0.9875),
        ([0] * 8, 0, 0.369417),
        ([0] * 25, 0, 0.137185),
        ([1] * 4 + [0] * 4, 0.157013, 0.842987),
        ([0.5] * 8, 0.315292, 0.684708),
        ([0.9] * 3, 0.263162, 0.970760),
        ([1, 1 / 2, 1 / 3, 1 / 4, 0], 0.129489, 0.798977),
        ([n / 10 for n in range(11)], 0.280557, 0.719443),
        ([0.2, 0.5, 0.9], 0.131037, 0.9),
    ],
)
def test_golden_values(scores: list[float], low: float, high: float) -> None:
    """As by adaptive quadrature, to 1e-9. The last upper limit, by hand: (.1/.8)(.1/.5) = .025."""
    assert interval(scores, 0, 1) == pytest.approx((low, high), abs=1e-6)


@pytest.mark.parametrize("count", [*range(1, 31), 1000])
def test_binary_scores_have_the_interval_of_clopper_and_pearson(count: int) -> None:
    for ones in range(0, count + 1, 1 if count <= 30 else 250):
        exact = (
            beta.ppf(0.025, ones, count - ones + 1) if ones else 0,
            beta.ppf(0.975, ones + 1, count - ones) if ones < count else 1,
        )
        assert interval([1] * ones + [0] * (count - ones), 0, 1) == pytest.approx(exact, abs=1e-6)


@given(SCORES)
def test_the_interval_holds_the_mean_and_is_within_the_range(scores: list[float]) -> None:
    low, high = interval(scores, 0, 1)
    assert 0 <= low <= np.mean(scores) + 1e-12
    assert np.mean(scores) - 1e-12 <= high <= 1
    assert high - low > 0.05  # never without a width


@given(SCORES, st.floats(0.1, 50), st.floats(-20, 20))
def test_scaled_shifted_mirrored_and_reordered_scores(
    scores: list[float], scale: float, shift: float
) -> None:
    low, high = interval(scores, 0, 1)
    assert interval([1 - score for score in scores], 0, 1) == pytest.approx((1 - high, 1 - low), abs=1e-7)
    assert interval(scores[::-1], 0, 1) == pytest.approx((low, high), abs=1e-9)
    moved = interval([scale * score + shift for score in scores], shift, scale + shift)
    assert moved == pytest.approx((scale * low + shift, scale * high + shift), abs=1e-6 * max(1, scale))


@given(SCORES, st.data())
def test_a_higher_score_lowers_no_limit(scores: list[float], data: st.DataObject) -> None:
    changed = data.draw(st.integers(0, len(scores) - 1))
    higher = [*scores]
    higher[changed] = data.draw(st.floats(scores[changed], 1))
    assert upper_limit(higher, 1, 0.025) >= upper_limit(scores, 1, 0.025) - 1e-8
    assert lower_limit(higher, 0, 0.025) >= lower_limit(scores, 0, 0.025) - 1e-8


@given(SCORES)
def test_rounding_errors_change_nothing(scores: list[float]) -> None:
    near = [min(1.0, score + index * 1e-13) for index, score in enumerate(scores)]
    assert interval(near, 0, 1) == pytest.approx(interval(scores, 0, 1), abs=1e-7)


def test_scores_outside_of_the_range_are_errors_but_for_rounding() -> None:
    assert upper_limit([0.2, 1 + 1e-10], 1, 0.025) == upper_limit([0.2, 1], 1, 0.025)
    with pytest.raises(ValueError, match="above 1, the highest possible one"):
        upper_limit([1.1], 1, 0.025)
    with pytest.raises(ValueError, match="above"):
        lower_limit([-0.1], 0, 0.025)


def test_shares_of_groups() -> None:
    """Equal sizes: the interval of the mean share; unequal ones: it contains the share of all."""
    assert share_interval([2, 5, 9], [10] * 3) == pytest.approx(interval([0.2, 0.5, 0.9], 0, 1), abs=1e-9)
    low, high = share_interval([1, 0, 5, 2], [2, 1, 9, 4])
    assert 0 < low < 0.5 < high < 1
    mirrored = share_interval([1, 1, 4, 2], [2, 1, 9, 4])
    assert mirrored == pytest.approx((1 - high, 1 - low))
