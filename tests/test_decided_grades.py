"""Consensus of ratings: ties, and properties of all rules."""

from __future__ import annotations

from fractions import Fraction
from statistics import median_low
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.decided_grades import RULES, consensus_ratings, majority, mean, median

RATINGS = st.lists(st.integers(0, 5), min_size=1, max_size=7)


@pytest.mark.parametrize(
    ("ratings", "by_mean", "by_median", "by_majority"),
    [
        ([3], 3, 3, 3),
        ([1, 2], 1, 1, 1),  # 1.5 is rounded down; lower middle; tie of two
        ([0, 5], 2, 0, 0),  # 2.5
        ([0, 1, 1], 1, 1, 1),
        ([0, 0, 5], 2, 0, 0),  # 1.67
        ([2, 2, 4, 4], 3, 2, 2),
        ([5, 5, 4, 4, 0], 4, 4, 4),  # 3.6; two fours and two fives
        ([1, 2, 3, 5], 3, 2, 1),  # 2.75; all once
        ([4, 4, 5], 4, 4, 4),
    ],
)
def test_by_hand(ratings: list[int], by_mean: int, by_median: int, by_majority: int) -> None:
    assert (mean(ratings), median(ratings), majority(ratings)) == (by_mean, by_median, by_majority)


@given(RATINGS)
def test_against_other_implementations(ratings: list[int]) -> None:
    """The nearest integer to the exact mean, of two the lower; Python's low median."""
    exact = Fraction(sum(ratings), len(ratings))
    assert mean(ratings) == min(range(6), key=lambda rating: (abs(rating - exact), rating))
    assert median(ratings) == median_low(ratings)


@given(RATINGS, st.randoms())
@pytest.mark.parametrize("rule", RULES)
def test_the_order_of_graders_has_no_effect(rule: Any, ratings: list[int], random: Any) -> None:
    assert RULES[rule](random.sample(ratings, len(ratings))) == RULES[rule](ratings)
    assert min(ratings) <= RULES[rule](ratings) <= max(ratings)


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 5)), st.integers(1, 5))
@pytest.mark.parametrize("rule", RULES)
def test_a_grader_repeated_is_that_grader(rule: Any, ratings: dict[str, int], times: int) -> None:
    assert consensus_ratings([ratings] * times, rule, min_graders=times) == ratings


@given(RATINGS, st.integers(0, 5))
def test_the_median_reaches_a_threshold_with_more_than_half(ratings: list[int], threshold: int) -> None:
    reaching = sum(rating >= threshold for rating in ratings)
    assert (median(ratings) >= threshold) == (2 * reaching > len(ratings))


def test_items_with_too_few_ratings_have_no_consensus() -> None:
    graders = [{"a": 1, "b": 2}, {"a": 3}, {"c": 4}]
    assert consensus_ratings(graders, "median", 2) == {"a": 1}
    assert consensus_ratings(graders, "median") == {"a": 1, "b": 2, "c": 4}
    assert consensus_ratings([], "mean") == {}
