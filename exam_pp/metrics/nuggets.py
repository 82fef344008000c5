"""Nugget scores of answers: V, W and A, strict and lenient.

Source: Pradeep et al., "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the
AutoNuggetizer Framework" (2024), section 3.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

NuggetMetric = Literal["V_strict", "V", "W_strict", "W", "A_strict", "A", "L"]

NUGGET_METRICS: tuple[NuggetMetric, ...] = ("V_strict", "V", "W_strict", "W", "A_strict", "A")
"""In the order of the paper's tables; the first is the primary metric."""
LENGTH: NuggetMetric = "L"
"""Length of the answer in white-space separated words."""


MissingVital = Literal["zero", "skip"]
"""V and V_strict of a query without vital nuggets: 0, or undefined."""


class LabelledNugget(NamedTuple):
    """A nugget with its assignment for an answer.

    ``importance`` is ``vital`` or ``okay``; any other value is unknown. ``assignment`` is ``support``,
    ``partial_support`` or ``not_support``; any other value, or None, is ungraded.
    """

    importance: str | None
    assignment: str | None


class _Counts(NamedTuple):
    nuggets: int = 0
    supported: int = 0
    partly: int = 0

    def strict(self) -> int:
        """Twice the sum of the strict scores, an integer."""
        return 2 * self.supported

    def lenient(self) -> int:
        """Twice the sum of the scores, an integer; partial support scores 1/2."""
        return 2 * self.supported + self.partly


def nugget_scores(
    nuggets: Iterable[LabelledNugget], *, ungraded: str = "not_support", missing_vital: MissingVital = "zero"
) -> dict[str, float]:
    """Compute the scores of an answer: metric to a value in 0..1, in the order of :data:`NUGGET_METRICS`.

    The denominator of A is all nuggets, that of V the vital nuggets, that of W the vital nuggets and, at
    half weight, the okay nuggets. A metric with an empty denominator is 0, as the track counts it; with
    ``missing_vital="skip"`` it has no key. These are V and V_strict without vital nuggets, and W and W_strict
    without vital and okay nuggets.

    Ungraded nuggets count as the label ``ungraded``; ``support`` gives the upper bound of the scores. Counts
    are added as integers and divided once, so that equal scores are equal floats.

    Two vital nuggets, of which the second has partial support, and an okay nugget without support. W is
    ``(Σ vital + 0.5 × Σ okay) / (number of vital + 0.5 × number of okay)`` = 1.5 / 2.5:

    >>> labels = [("vital", "support"), ("vital", "partial_support"), ("okay", "not_support")]
    >>> scores = nugget_scores(LabelledNugget(*label) for label in labels)
    >>> {metric: round(score, 3) for metric, score in scores.items()}
    {'V_strict': 0.5, 'V': 0.75, 'W_strict': 0.4, 'W': 0.6, 'A_strict': 0.333, 'A': 0.5}
    """
    counts = _count(nuggets, ungraded)
    vital, okay = counts["vital"], counts["okay"]
    every = _Counts(*map(sum, zip(*counts.values(), strict=True)))
    ratios = {
        "V_strict": (vital.strict(), 2 * vital.nuggets),
        "V": (vital.lenient(), 2 * vital.nuggets),
        "W_strict": (2 * vital.strict() + okay.strict(), 2 * (2 * vital.nuggets + okay.nuggets)),
        "W": (2 * vital.lenient() + okay.lenient(), 2 * (2 * vital.nuggets + okay.nuggets)),
        "A_strict": (every.strict(), 2 * every.nuggets),
        "A": (every.lenient(), 2 * every.nuggets),
    }
    return {
        metric: part / whole if whole else 0.0
        for metric, (part, whole) in ratios.items()
        if whole or missing_vital == "zero"
    }


def _count(nuggets: Iterable[LabelledNugget], ungraded: str) -> Mapping[str, _Counts]:
    counts = {"vital": _Counts(), "okay": _Counts(), "unknown": _Counts()}
    for importance, assignment in nuggets:
        weight_class = importance if importance in ("vital", "okay") else "unknown"
        label = assignment if is_label(assignment) else ungraded
        old = counts[weight_class]
        counts[weight_class] = _Counts(
            old.nuggets + 1, old.supported + (label == "support"), old.partly + (label == "partial_support")
        )
    return counts


def is_label(assignment: str | None) -> bool:
    """Whether an assignment is one of the three labels."""
    return assignment in ("support", "partial_support", "not_support")


def answer_length(text: str) -> int:
    """The metric L: number of white-space separated words."""
    return len(text.split())
