"""Bank entries that say nearly the same."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple

from exam_pp.test_bank import normalised_text
from exam_pp.words import tokens

SIMILAR = 0.9
"""Similarity from which two texts count as nearly the same."""


class TextPair(NamedTuple):
    """Two entries (by key) of similarity 0 to 1; 1 is the same but for case, spaces and final punctuation."""

    first: str
    second: str
    similarity: float


def near_duplicates(texts: Mapping[str, str], similar: float = SIMILAR) -> list[TextPair]:
    """Pairs of texts that are similar, in the order of ``texts``.

    The similarity is the edit-distance ratio of the sorted words, as in rapidfuzz's ``token_sort_ratio``.
    Texts whose figures differ ("in 1969", "in 1970") are different.
    """
    from rapidfuzz.fuzz import token_sort_ratio  # noqa: PLC0415 - only this needs it

    words = {key: normalised_text(text) for key, text in texts.items()}
    figures = {
        key: sorted(t for t in tokens(text) if any(c.isdigit() for c in t)) for key, text in words.items()
    }
    found = []
    for first, second in combinations(texts, 2):
        if words[first] == words[second]:
            found.append(TextPair(first, second, 1.0))
        elif figures[first] == figures[second]:
            ratio = token_sort_ratio(words[first], words[second], score_cutoff=100 * similar) / 100
            if ratio:
                found.append(TextPair(first, second, min(ratio, 0.99)))
    return found
