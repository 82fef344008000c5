"""Soft grades: expected rating and margin from the likelihoods of the scale's labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from exam_pp.requests import Completion

DECIMALS = 4
"""Decimals of soft values. Rounding makes them independent of the batches of requests."""


class SoftGrade(NamedTuple):
    """The expected rating under the probabilities of the labels.

    ``probabilities`` are those of the grades 0, 1, 2 ..., renormalised over the scale; ``expected`` is
    Σ r·p(r); ``margin`` is the highest probability minus the second highest. ``mass`` is the probability of
    all labels together, before it is renormalised.
    """

    expected: float
    margin: float
    probabilities: list[float]
    mass: float


def soft_grade(label_logprobs: Sequence[float]) -> SoftGrade | None:
    """Compute the soft grade from the log-probabilities of the labels 0, 1, 2 ...

    Returns None for fewer than two labels, and for NaN or +inf, which a model returns after an overflow.
    −inf stands for an impossible label and is allowed.
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
        round(expected, DECIMALS),
        round(best - second, DECIMALS),
        [round(p, DECIMALS) for p in probabilities],
        round(min(1.0, total * math.exp(min(top, 0.0))), DECIMALS),
    )


def soft_fields(reply: Completion) -> dict[str, Any]:
    """The keys of a reply's soft grade in files; empty if the reply has none."""
    soft = soft_grade(reply.label_logprobs)
    return soft._asdict() | {"definition": reply.definition} if soft else {}
