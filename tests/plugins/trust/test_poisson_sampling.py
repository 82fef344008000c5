"""Inclusion probabilities of Poisson samples; expected values are computed by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.plugins.trust.sample_pairs import (
    EVEN_SHARE,
    inclusion_probabilities,
    weights_of,
)

SIZES = st.dictionaries(st.integers(0, 20).map(float), st.integers(1, 50_000), min_size=1, max_size=12)
SPREADS = st.dictionaries(st.floats(0, 1).map(lambda x: round(x, 9)), st.integers(1, 50_000), min_size=1)


def expected_numbers(sizes: dict[float, int], budget: float) -> dict[float, float]:
    """The expected number of items of each stratum, if every stratum gets the same number."""
    probabilities = inclusion_probabilities(sizes, weights_of(sizes, "rating"), budget)
    return {stratum: sizes[stratum] * probabilities[stratum] for stratum in sizes}


@pytest.mark.parametrize(
    ("sizes", "weights", "budget", "probabilities"),
    [
        ({0: 400}, {0: 1.0}, 100, {0: 0.25}),
        # 3 c + 5 c > 4 with c = 1/2 would give 1.5: so 1 for the heavy item, and 3 of 5 for the others.
        ({0: 1, 1: 5}, {0: 3.0, 1: 1.0}, 4, {0: 1.0, 1: 0.6}),
        ({0: 3, 1: 2}, {0: 1.0, 1: 9.0}, 6, {0: 1.0, 1: 1.0}),
        ({0.0: 8}, weights_of({0.0: 8}, "disagreement"), 2, {0.0: 0.25}),
    ],
    ids=["without strata", "capped at 1", "more than all items", "equal spreads of 0"],
)
def test_probabilities_by_hand(
    sizes: dict[float, int], weights: dict[float, float], budget: float, probabilities: dict[float, float]
) -> None:
    assert inclusion_probabilities(sizes, weights, budget) == pytest.approx(probabilities)


def test_small_strata_are_taken_in_full_and_the_rest_goes_to_the_others() -> None:
    # 30 = 2 + 4 + 12 + 12: strata of 2 and 4 are smaller than their share.
    numbers = expected_numbers({0: 1000, 1: 4, 2: 2, 3: 100}, 30)
    assert numbers == pytest.approx({0: 12, 1: 4, 2: 2, 3: 12})


def test_a_share_of_the_weight_is_spread_evenly() -> None:
    # Ten pairs, two with spread 0.5 and one with spread 1: the sum of spreads is 2.
    weights = weights_of({0.0: 7, 0.5: 2, 1.0: 1}, "disagreement")
    assert EVEN_SHARE == 0.25
    assert weights == pytest.approx({0.0: 0.025, 0.5: 0.025 + 0.1875, 1.0: 0.025 + 0.375})


@given(SIZES, st.floats(0.001, 1))
def test_probabilities_of_equal_strata_sum_to_the_budget(sizes: dict[float, int], share: float) -> None:
    budget = share * sum(sizes.values())
    numbers = expected_numbers(sizes, budget)
    assert sum(numbers.values()) == pytest.approx(budget)
    taken = max(number for number in numbers.values())
    for stratum, number in numbers.items():
        assert number == pytest.approx(min(sizes[stratum], taken))


@given(SPREADS, st.floats(0.001, 1))
def test_probabilities_by_spread_sum_to_the_budget(sizes: dict[float, int], share: float) -> None:
    budget = share * sum(sizes.values())
    weights = weights_of(sizes, "disagreement")
    probabilities = inclusion_probabilities(sizes, weights, budget)
    assert sum(sizes[spread] * value for spread, value in probabilities.items()) == pytest.approx(budget)
    assert all(0 < value <= 1 for value in probabilities.values())
    below_1 = [value / weights[spread] for spread, value in probabilities.items() if value < 1 - 1e-9]
    assert below_1 == pytest.approx(below_1[:1] * len(below_1), rel=1e-6), "proportional to the weights"


@given(SIZES, st.floats(0.001, 0.5))
def test_a_larger_budget_raises_every_probability(sizes: dict[float, int], share: float) -> None:
    weights = weights_of(sizes, "rating")
    small, large = (
        inclusion_probabilities(sizes, weights, factor * share * sum(sizes.values())) for factor in (1, 2)
    )
    assert all(large[stratum] >= small[stratum] * (1 - 1e-9) for stratum in sizes)
