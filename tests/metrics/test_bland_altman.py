"""Bland-Altman analysis: the example of the paper, undefined limits, points of the plot."""

from __future__ import annotations

import pytest

from exam_pp.metrics.agreement import bland_altman, means_and_differences

# Peak expiratory flow rate of 17 subjects in l/min, first measurements with the Wright and the mini Wright
# peak flow meter: Bland and Altman, The Lancet 327 (1986), table 1.
WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
DIFFERENCES = [a - b for a, b in zip(WRIGHT, MINI, strict=True)]


def test_the_example_of_bland_and_altman() -> None:
    """The paper rounds 1.96 to 2, and the sd and the limits before it goes on."""
    result = bland_altman(DIFFERENCES, deviations=2)

    assert result is not None
    assert result.lower is not None
    assert result.upper is not None
    assert result.items == 17
    assert result.sd == pytest.approx(38.8, abs=0.05)
    assert result.bias.value == pytest.approx(-2.1, abs=0.05)
    assert (result.lower.value, result.upper.value) == pytest.approx((-79.7, 75.5), abs=0.1)
    assert result.bias.interval == pytest.approx((-22.0, 17.8), abs=0.1)
    assert result.lower.interval == pytest.approx((-114.3, -45.1), abs=0.2)
    assert result.upper.interval == pytest.approx((40.9, 110.1), abs=0.2)


def test_limits_are_1_96_standard_deviations_away() -> None:
    """Figure 4 of Rackauckas et al., 2024: bias .12, limits −1.17 and 1.41, so the sd is .658."""
    half = 0.658 / 2**0.5
    result = bland_altman([0.12 - half, 0.12 + half])

    assert result is not None
    assert result.lower is not None
    assert result.upper is not None
    assert [round(line.value, 2) for line in (result.bias, result.lower, result.upper)] == [0.12, -1.17, 1.41]


def test_too_few_differences() -> None:
    assert bland_altman([]) is None
    single = bland_altman([1])
    assert single is not None
    assert (single.bias.value, single.bias.interval, single.sd, single.lower, single.upper) == (
        1, None, None, None, None,
    )  # fmt: skip


def test_equal_differences_have_limits_at_the_bias() -> None:
    result = bland_altman([1] * 8)
    assert result is not None
    assert result.lower == result.upper == result.bias == (1.0, None)


def test_intervals_need_six_items() -> None:
    five, six = bland_altman([1, 2, 3, 4, 5]), bland_altman([1, 2, 3, 4, 5, 6])
    assert five is not None
    assert five.bias.interval is None
    assert six is not None
    assert six.bias.interval is not None


def test_points_that_coincide_are_shifted_a_little() -> None:
    pairs = [(2.0, 1.0)] * 50 + [(1.0, 2.0)]
    points = means_and_differences(pairs, seed=1)

    assert len(set(points)) == 51
    assert points == means_and_differences(pairs, seed=1) != means_and_differences(pairs, seed=2)
    for mean, difference in points[:50]:
        assert abs(mean - 1.5) <= 0.25
        assert abs(difference - 1) <= 0.5


def test_distinct_points_stay_in_place() -> None:
    assert means_and_differences([(2, 1), (1, 1)]) == [(1.5, 1.0), (1.0, 0.0)]
    assert means_and_differences([]) == []


def test_a_sample_of_many_points() -> None:
    drawn = means_and_differences([(float(n), 0.0) for n in range(100)], limit=10, seed=0)
    assert len(set(drawn)) == 10
    assert all(mean == difference / 2 for mean, difference in drawn)
