"""Soft grades against numbers computed by hand."""

from __future__ import annotations

import math

import pytest

from exam_pp.graders.soft import soft_grade


def logs(*probabilities: float) -> tuple[float, ...]:
    return tuple(math.log(p) if p else -math.inf for p in probabilities)


def test_a_scale_of_six_by_hand() -> None:
    """The labels have a probability of .6 together; renormalised: .1 .0 .1 .1 .4 .3."""
    soft = soft_grade(logs(0.06, 0.0, 0.06, 0.06, 0.24, 0.18))
    assert soft is not None
    assert soft.probabilities == [0.1, 0.0, 0.1, 0.1, 0.4, 0.3]
    assert soft.expected == pytest.approx(0.1 * 2 + 0.1 * 3 + 0.4 * 4 + 0.3 * 5)
    assert soft.margin == pytest.approx(0.1)


def test_likelihoods_below_the_smallest_float() -> None:
    soft = soft_grade((-2000.0, -2000.0 + math.log(3)))
    assert soft == (0.75, 0.5, [0.25, 0.75], 0.0)


@pytest.mark.parametrize(
    "logprobs",
    [(), (-1.0,), (-math.inf,) * 6, (math.nan, -1.0), (-1.0, math.nan), (-1.0, math.inf)],
)
def test_unknown_likelihoods_give_no_soft_grade(logprobs: tuple[float, ...]) -> None:
    assert soft_grade(logprobs) is None
