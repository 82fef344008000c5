"""Bland-Altman analysis: the published example, intervals, and the points of its plot."""

from __future__ import annotations

import pytest

from exam_pp.plugins.trust.rating_correlation import bland_altman, means_and_differences

# Peak expiratory flow rate of 17 subjects in l/min, first measurements with the Wright and the mini Wright
# peak flow meter: Bland and Altman, The Lancet 327 (1986), table 1.
WRIGHT = [494, 395, 516, 434, 476, 557, 413, 442, 650, 433, 417, 656, 267, 478, 178, 423, 427]
MINI = [512, 430, 520, 428, 500, 600, 364, 380, 658, 445, 432, 626, 260, 477, 259, 350, 451]
DIFFERENCES = [a - b for a, b in zip(WRIGHT, MINI, strict=True)]


def test_the_example_of_bland_and_altman() -> None:
    """The paper rounds 1.96 to 2, and the sd and the limits before it goes on."""
    result = bland_altman(DIFFERENCES, deviations=2)
    lines = (result.bias, result.lower, result.upper)
    assert result.sd == pytest.approx(38.8, abs=0.05)
    assert [line.value for line in lines] == pytest.approx([-2.1, -79.7, 75.5], abs=0.1)
    ends = [end for line in lines for end in line.interval or ()]
    assert ends == pytest.approx([-22.0, 17.8, -114.3, -45.1, 40.9, 110.1], abs=0.2)


def test_limits_are_1_96_standard_deviations_away() -> None:
    """Figure 4 of Rackauckas et al., 2024: bias .12, limits −1.17 and 1.41, so the sd is .658."""
    half = 0.658 / 2**0.5
    result = bland_altman([0.12 - half, 0.12 + half])
    lines = (result.bias, result.lower, result.upper)
    assert [round(line.value or 0, 2) for line in lines] == [0.12, -1.17, 1.41]


def test_a_single_difference_has_no_limits() -> None:
    nothing = (None, None)
    assert bland_altman([]) == (nothing, None, nothing, nothing)
    assert bland_altman([1]) == ((1, None), None, nothing, nothing)


def test_equal_differences_have_limits_at_the_bias() -> None:
    result = bland_altman([1] * 8)
    assert result.lower == result.upper == result.bias == (1.0, None)


@pytest.mark.parametrize(("items", "exists"), [(5, False), (6, True)])
def test_intervals_need_six_items(items: int, exists: bool) -> None:
    assert (bland_altman(range(items)).bias.interval is not None) == exists


def test_points_that_coincide_are_shifted_a_little() -> None:
    pairs = [(2.0, 1.0)] * 50 + [(1.0, 2.0)]
    points = means_and_differences(pairs, seed=1)

    assert len(set(points)) == 51
    assert points == means_and_differences(pairs, seed=1) != means_and_differences(pairs, seed=2)
    assert all(abs(mean - 1.5) <= 0.25 and abs(difference - 1) <= 0.5 for mean, difference in points[:50])


def test_distinct_points_stay_in_place() -> None:
    assert means_and_differences([(2, 1), (1, 1)]) == [(1.5, 1.0), (1.0, 0.0)]
    assert means_and_differences([]) == []


def test_a_sample_of_many_points() -> None:
    drawn = means_and_differences([(float(n), 0.0) for n in range(100)], limit=10, seed=0)
    assert len(set(drawn)) == 10
    assert all(mean == difference / 2 for mean, difference in drawn)
