"""Nugget scores: how many of a query's nuggets an answer holds.

Source: Pradeep et al., "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the
AutoNuggetizer Framework" (2024), section 3.5.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

NuggetMetric = Literal["V_strict", "V", "W_strict", "W", "A_strict", "A", "L"]

NUGGET_METRICS: tuple[NuggetMetric, ...] = ("V_strict", "V", "W_strict", "W", "A_strict", "A")
"""In the order of the paper's tables; the first is the primary one."""
LENGTH: NuggetMetric = "L"
"""White-space separated words of the answer."""


class LabelledNugget(NamedTuple):
    """A nugget with its label for one answer.

    ``importance`` is ``vital`` or ``okay``; anything else is unknown. ``assignment`` is ``support``,
    ``partial_support`` or ``not_support``; anything else, None included, is ungraded.
    """

    importance: str | None
    assignment: str | None


class _Counts(NamedTuple):
    nuggets: int = 0
    supported: int = 0
    partly: int = 0

    def strict(self) -> int:
        """Twice the sum of ss: halves stay whole numbers."""
        return 2 * self.supported

    def lenient(self) -> int:
        """Twice the sum of s."""
        return 2 * self.supported + self.partly


def nugget_scores(nuggets: Iterable[LabelledNugget], *, ungraded: str = "not_support") -> dict[str, float]:
    """The scores of one answer: metric to a value in 0..1, in the order of :data:`NUGGET_METRICS`.

    Every nugget stays in the denominator of A, vital ones in that of V, vital and okay ones (at half
    weight) in that of W. A metric whose denominator is empty is undefined and has no key: V and V_strict
    without vital nuggets, W and W_strict without vital and okay ones. Without okay nuggets W is V.

    An ungraded nugget counts as ``ungraded``: ``support`` gives the bound that the score could reach.
    Counts are added as whole numbers and divided once, so that equal scores are equal floats.
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
    return {metric: part / whole for metric, (part, whole) in ratios.items() if whole}


def _count(nuggets: Iterable[LabelledNugget], ungraded: str) -> Mapping[str, _Counts]:
    counts = {"vital": _Counts(), "okay": _Counts(), "unknown": _Counts()}
    for importance, assignment in nuggets:
        kind = importance if importance in ("vital", "okay") else "unknown"
        label = assignment if is_label(assignment) else ungraded
        old = counts[kind]
        counts[kind] = _Counts(
            old.nuggets + 1, old.supported + (label == "support"), old.partly + (label == "partial_support")
        )
    return counts


def is_label(assignment: str | None) -> bool:
    """Whether an assignment is one of the three labels."""
    return assignment in ("support", "partial_support", "not_support")


def answer_length(text: str) -> int:
    """L: the number of white-space separated words."""
    return len(text.split())
