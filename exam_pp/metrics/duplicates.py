"""Near-duplicate detection for bank entries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from exam_pp.stemming import content_stems
from exam_pp.test_bank import normalised_text

SIMILAR = 0.85
"""Similarity from which two texts are near duplicates."""


class TextPair(NamedTuple):
    """Two entries (by key) with their similarity, 0 to 1.

    The similarity is 1 if the texts are equal except for case, spaces and final punctuation.
    """

    first: str
    second: str
    similarity: float


def near_duplicates(texts: Mapping[str, str], similar: float = SIMILAR) -> list[TextPair]:
    """Pairs of texts with a similarity of at least ``similar``, in the order of ``texts``.

    The similarity of texts that differ is Dice's coefficient of the word stems without stop words, in any
    order, at most 0.99. Texts that differ in a number ("in 1969", "in 1970") are never near duplicates.
    """
    normalised = {key: normalised_text(text) for key, text in texts.items()}
    stems = {key: Counter(content_stems(text)) for key, text in texts.items()}
    pairs = []
    for first, second in combinations(texts, 2):
        if normalised[first] == normalised[second]:
            pairs.append(TextPair(first, second, 1.0))
        elif (common := _dice(stems[first], stems[second])) >= similar and (
            _numbers(stems[first]) == _numbers(stems[second])
        ):
            pairs.append(TextPair(first, second, min(common, 0.99)))
    return pairs


def _dice(first: Counter[str], second: Counter[str]) -> float:
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0


def _numbers(stems: Counter[str]) -> set[str]:
    return {stem for stem in stems if any(c.isdigit() for c in stem)}
