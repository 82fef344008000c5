"""Bank entries that say nearly the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from exam_pp.stemming import content_stems
from exam_pp.test_bank import normalised_text

SIMILAR = 0.85
"""Share of common words from which two texts count as nearly the same."""


class TextPair(NamedTuple):
    """Two entries (by key) of similarity 0 to 1; 1 is the same but for case, spaces and final punctuation."""

    first: str
    second: str
    similarity: float


def near_duplicates(texts: Mapping[str, str], similar: float = SIMILAR) -> list[TextPair]:
    """Pairs of texts that are similar, in the order of ``texts``.

    The similarity is Dice's coefficient of the stems of the words that are no stop words, so that "hotel"
    and "motel" differ and the order of words does not matter. Texts whose figures differ ("in 1969", "in
    1970") are different.
    """
    words = {key: normalised_text(text) for key, text in texts.items()}
    stems = {key: Counter(content_stems(text)) for key, text in texts.items()}
    found = []
    for first, second in combinations(texts, 2):
        if words[first] == words[second]:
            found.append(TextPair(first, second, 1.0))
        elif (common := _dice(stems[first], stems[second])) >= similar and (
            _figures(stems[first]) == _figures(stems[second])
        ):
            found.append(TextPair(first, second, min(common, 0.99)))
    return found


def _dice(first: Counter[str], second: Counter[str]) -> float:
    total = first.total() + second.total()
    return 2 * (first & second).total() / total if total else 0.0


def _figures(stems: Counter[str]) -> set[str]:
    return {stem for stem in stems if any(c.isdigit() for c in stem)}
