"""One formula for scores of graded entries: the weight that is earned as a share of the weight that counts.

``Σ credit × weight(entries that reach the grade) / weight(entries that count)``. Rubric-Cover, the nugget
scores V, W and A, and the scores of rubrics are rows of one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from math import fsum
from operator import or_
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exam_pp.banks import Entry

Steps = tuple[tuple[int, float], ...]
"""Pairs of a grade and the credit for reaching it; the credits of all grades that an entry reaches add up."""

FULL: Steps = ((2, 1.0),)
"""Partial support counts nothing."""
HALF: Steps = ((2, 0.5), (1, 0.5))
"""Partial support counts half."""


def size(mask: int, weights: Sequence[float] | None) -> float:
    """The number of entries in a mask, or their total weight."""
    if weights is None:
        return mask.bit_count()
    return fsum(weight for bit, weight in enumerate(weights) if mask >> bit & 1)


def union(masks: Iterable[int]) -> int:
    """The mask of what is in any of the masks."""
    return reduce(or_, masks, 0)


@dataclass(frozen=True)
class Measure:
    """What entries earn, and what they weigh.

    ``words`` maps an importance to a weight, and None to that of all other importances (default: 0). Without
    ``words``, entries have the weights of the bank. ``meaning`` is a sentence for readers.
    """

    name: str
    steps: Steps
    words: Mapping[str | None, float] | None = None
    meaning: str = ""

    def weights(self, entries: Iterable[Entry]) -> list[float]:
        """The weights of entries, in order."""
        if self.words is None:
            return [entry.weight for entry in entries]
        other = self.words.get(None, 0.0)
        return [self.words.get(entry.importance, other) for entry in entries]

    def credit(self, reached: Mapping[int, int], position: int) -> float:
        """What the entry at a position of the masks earns."""
        return fsum(credit for grade, credit in self.steps if reached[grade] >> position & 1)

    def share(
        self, reached: Mapping[int, int], weights: Sequence[float] | None, whole: float
    ) -> float | None:
        """The score for the masks of the entries that reach each grade; None if nothing counts.

        ``weights``: Of all entries; None if each of them counts 1. ``whole``: :func:`size` of the entries
        that count. Sums are exact and divided once, so that equal scores are equal floats.

        Two vital nuggets, of which the second has partial support, and an okay nugget without support. W is
        ``(Σ vital + 0.5 × Σ okay) / (number of vital + 0.5 × number of okay)`` = 1.5 / 2.5:

        >>> W = next(measure for measure in NUGGET_MEASURES if measure.name == "W")
        >>> W.share({2: 0b001, 1: 0b011}, [1.0, 1.0, 0.5], 2.5)
        0.6
        """
        earned = fsum([credit * size(reached[grade], weights) for grade, credit in self.steps])
        return earned / whole if whole else None


_VITAL: Mapping[str | None, float] = {"vital": 1.0}
_VITAL_AND_HALF_OKAY: Mapping[str | None, float] = {"vital": 1.0, "okay": 0.5}
_ALL: Mapping[str | None, float] = {None: 1.0}

NUGGET_MEASURES = (
    Measure("V_strict", FULL, _VITAL, "Share of the vital nuggets that an answer supports."),
    Measure("V", HALF, _VITAL, "V_strict, where partial support counts half."),
    Measure("W_strict", FULL, _VITAL_AND_HALF_OKAY, "Share of all nuggets; okay nuggets count half."),
    Measure("W", HALF, _VITAL_AND_HALF_OKAY, "W_strict, where partial support counts half."),
    Measure("A_strict", FULL, _ALL, "Share of all nuggets that an answer supports."),
    Measure("A", HALF, _ALL, "A_strict, where partial support counts half."),
)
"""V, W and A in the order of the paper's tables; the first is the primary measure.

Source: Pradeep et al., "Initial Nugget Evaluation Results for the TREC 2024 RAG Track with the AutoNuggetizer
Framework" (2024), section 3.5.
"""
NUGGET_METRICS = tuple(measure.name for measure in NUGGET_MEASURES)
RUBRIC_MEASURES = (
    Measure("Rubric", HALF, None, "Share of the weight that an answer earns; partly met counts half."),
    Measure("Rubric_strict", FULL, None, "Share of the weight of what an answer meets."),
)
"""The ternary and the binary score of ResearchRubrics, for weights that are not negative."""
MEASURES = {measure.name: measure for measure in (*NUGGET_MEASURES, *RUBRIC_MEASURES)}
"""Name to measure."""
LENGTH = "L"
"""Length of an answer in white-space separated words."""


def answer_length(text: str) -> int:
    """The measure L of a text."""
    return len(text.split())
