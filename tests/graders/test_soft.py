"""Soft grades: numbers worked out by hand."""

from __future__ import annotations

import math

import pytest

from exam_pp.graders.soft import soft_grade


def logs(*probabilities: float) -> tuple[float, ...]:
    return tuple(math.log(p) if p else -math.inf for p in probabilities)


def test_a_scale_of_six_by_hand() -> None:
    """Renormalised over the scale, .4 of which is on other replies: .1 .0 .1 .1 .4 .3 of 1."""
    soft = soft_grade(logs(0.06, 0.0, 0.06, 0.06, 0.24, 0.18))
    assert soft is not None
    assert soft.probabilities == [0.1, 0.0, 0.1, 0.1, 0.4, 0.3]
    assert soft.expected == pytest.approx(0.1 * 2 + 0.1 * 3 + 0.4 * 4 + 0.3 * 5)
    assert soft.margin == pytest.approx(0.1)


def test_likelihoods_far_below_what_a_float_can_hold() -> None:
    soft = soft_grade((-2000.0, -2000.0 + math.log(3)))
    assert soft == (0.75, 0.5, [0.25, 0.75])


@pytest.mark.parametrize(
    "logprobs",
    [(), (-1.0,), (-math.inf,) * 6, (math.nan, -1.0), (-1.0, math.nan), (-1.0, math.inf)],
)
def test_where_nothing_is_known_there_is_no_soft_grade(logprobs: tuple[float, ...]) -> None:
    assert soft_grade(logprobs) is None
