"""Spread over repeats, against numpy and scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import variation

from exam_pp.metrics.text_similarity import spread

VALUES = st.lists(st.floats(0, 1), min_size=2, max_size=8)


@given(VALUES, st.booleans())
def test_the_spread_is_that_of_numpy(values: list[float], sample: bool) -> None:
    result, ddof = spread(values, sample=sample), int(sample)
    assert result.mean == pytest.approx(np.mean(values))
    assert result.variance == pytest.approx(np.var(values, ddof=ddof))
    assert result.adjusted == pytest.approx(result.mean / (1 + np.std(values, ddof=ddof)))
    if np.mean(values) > 1e-6:
        assert result.variation == pytest.approx(variation(values, ddof=ddof), abs=1e-9)


def test_equal_values_have_no_variance() -> None:
    result = spread([0.1] * 7)
    assert (result.variance, result.variation, result.adjusted) == (0.0, 0.0, 0.1)


def test_the_mean_zero_has_no_coefficient_of_variation() -> None:
    assert spread([0, 0, 0]).variation is None
    assert spread([-1, 1]).variation is None


@pytest.mark.parametrize("values", [[], [0.5], [0.5, math.nan], [math.inf, 0]])
def test_values_without_a_spread(values: list[float]) -> None:
    with pytest.raises(ValueError, match="two finite values"):
        spread(values)
