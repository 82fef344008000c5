"""Inclusion probabilities of Poisson samples with a given expected size.

In a Poisson sample every item is drawn independently of the others, with its own probability. An item that is
drawn with probability p then stands for 1/p items: the Horvitz-Thompson estimate of a total is unbiased.

Source: Särndal, Swensson and Wretman, "Model Assisted Survey Sampling", 1992, sections 2.8 and 3.5.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import accumulate
from typing import TypeVar

S = TypeVar("S", bound=Hashable)

EVEN_SHARE = 0.25
"""The share of the expected size that :func:`weights_by_spread` spreads evenly over all items."""


def inclusion_probabilities(
    sizes: Mapping[S, int], weights: Mapping[S, float], expected: float
) -> dict[S, float]:
    """Return the probability of an item in each stratum, proportional to its weight but at most 1.

    Returns stratum to probability in (0, 1]. The sum of the probabilities of all items is ``expected``.
    """
    if expected >= sum(sizes.values()):
        return dict.fromkeys(sizes, 1.0)
    strata = sorted(sizes, key=lambda stratum: weights[stratum])
    weight_until = list(accumulate(sizes[stratum] * weights[stratum] for stratum in strata))
    probabilities: dict[S, float] = {}
    rest = expected
    for stratum, weight in reversed(list(zip(strata, weight_until, strict=True))):
        # The heaviest strata are taken in full until the rest can be drawn in proportion to the weights.
        probability = min(1.0, rest * (weights[stratum] / weight))
        probabilities[stratum] = probability
        rest -= sizes[stratum] * probability
    return {stratum: probabilities[stratum] for stratum in sizes}


def weights_of_equal_strata(sizes: Mapping[S, int]) -> dict[S, float]:
    """Return weights with which the same number of items is expected from each stratum."""
    return {stratum: 1 / size for stratum, size in sizes.items()}


def weights_by_spread(sizes: Mapping[float, int]) -> dict[float, float]:
    """Return weights that grow with the spread, which is the key of a stratum.

    A share of :data:`EVEN_SHARE` is spread evenly, so that no item has a weight of 0; the rest is
    proportional to the spread. If all spreads are 0, all weights are equal.
    """
    count = sum(sizes.values())
    total = sum(size * spread for spread, size in sizes.items())
    if not total:
        return dict.fromkeys(sizes, 1.0)
    return {spread: EVEN_SHARE / count + (1 - EVEN_SHARE) * spread / total for spread in sizes}
