"""Soft grades: the expected rating and its margin, from the likelihoods of the scale's labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

DECIMALS = 4
"""Soft values are rounded, so that they do not depend on how requests were batched."""


class SoftGrade(NamedTuple):
    """``probabilities`` of the grades 0, 1, 2 ..., renormalised over the scale.

    ``expected`` is Σ r·p(r); ``margin`` the best p minus the second best.
    """

    expected: float
    margin: float
    probabilities: list[float]


def soft_grade(label_logprobs: Sequence[float]) -> SoftGrade | None:
    """The soft grade of log-probabilities of labels 0, 1, 2 ...; None where there are none.

    Impossible labels (−inf) are fine; a model that has overflown (NaN, +inf) says nothing about any.
    """
    if len(label_logprobs) < 2 or any(map(math.isnan, label_logprobs)):
        return None
    top = max(label_logprobs)
    if not math.isfinite(top):
        return None
    weights = [math.exp(logprob - top) for logprob in label_logprobs]
    total = math.fsum(weights)
    probabilities = [weight / total for weight in weights]
    expected = math.fsum(grade * p for grade, p in enumerate(probabilities))
    second, best = sorted(probabilities)[-2:]
    return SoftGrade(
        round(expected, DECIMALS), round(best - second, DECIMALS), [round(p, DECIMALS) for p in probabilities]
    )
