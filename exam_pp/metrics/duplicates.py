"""Near-duplicate detection for bank entries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from exam_pp.banks import normalised_text
from exam_pp.text.stemming import content_stems

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


class SeenTexts:
    """Texts in the order in which they were added, to find those that a new text repeats.

    The time of a search depends on the texts with the same words, not on all texts.
    """

    def __init__(self, similar: float = SIMILAR) -> None:
        self._similar = similar
        self._by_text: dict[str, str] = {}
        self._stems: dict[str, Counter[str]] = {}
        self._with_stem: defaultdict[str, list[str]] = defaultdict(list)

    def add(self, key: str, text: str) -> None:
        """Add a text under a new key."""
        self._by_text.setdefault(normalised_text(text), key)
        self._stems[key] = Counter(content_stems(text))
        for stem in self._stems[key]:
            self._with_stem[stem].append(key)

    def duplicate_of(self, text: str) -> str | None:
        """The key of a text that equals the new one or is a near duplicate of it (:func:`near_duplicates`).

        None if no text is similar enough.
        """
        if (key := self._by_text.get(normalised_text(text))) is not None:
            return key
        stems = Counter(content_stems(text))
        candidates = dict.fromkeys(key for stem in stems for key in self._with_stem[stem])
        numbers = _numbers(stems)
        return next(
            (
                key
                for key in candidates
                if _dice(stems, self._stems[key]) >= self._similar and _numbers(self._stems[key]) == numbers
            ),
            None,
        )


def _dice(first: Counter[str], second: Counter[str]) -> float:
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0


def _numbers(stems: Counter[str]) -> set[str]:
    return {stem for stem in stems if any(c.isdigit() for c in stem)}
