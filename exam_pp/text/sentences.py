"""Sentence splitting, by signs alone and with NLTK's Punkt algorithm."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk.tokenize.punkt import PunktSentenceTokenizer

# Punkt learns abbreviations from a corpus. A fixed list makes the sentences depend on the answer only.
_ABBREVIATIONS = {
    "a.m", "al", "approx", "ave", "ca", "cf", "co", "col", "corp", "dept", "dr", "e.g", "ed", "eds", "etc",
    "fig", "gov", "i.e", "inc", "jr", "ltd", "mr", "mrs", "ms", "p.m", "pp", "prof", "rev", "sgt", "sr",
    "st", "u.k", "u.s", "univ", "vol", "vs",
}  # fmt: skip
_LINE_STARTS = re.compile(r"\n[^\S\n]*\n\s*|\n\s*(?=[-*•]\s|\d{1,3}[.)]\s|#)")
"""Boundaries without a full stop: a blank line, the start of a list item or of a heading."""

_SIGN = re.compile(r"(?<=[.!?؟۔।])\s+|(?<=[.!?][\"'”’)\]])\s+|\n+|(?<=[。！？])(?![」』）”])\s*")


def plain_sentences(text: str) -> list[str]:
    """The sentences of a text in any script, by their signs, as stripped substrings."""
    return [span.strip() for span in _SIGN.split(text) if span.strip()]


def sentences(text: str) -> list[str]:
    """Split a text into sentences. Whitespace is kept, so that the joined sentences equal the text.

    Boundaries are those of NLTK's Punkt algorithm (Kiss and Strunk, 2006) with a fixed list of English
    abbreviations, and blank lines, list items and headings.
    """
    starts = [0, *(match.end() for match in _LINE_STARTS.finditer(text)), len(text)]
    cuts = [
        start + offset
        for start, end in pairwise(starts)
        for offset, _ in _punkt().span_tokenize(text[start:end])
    ]
    # Whitespace at the start of the text belongs to the first sentence.
    return [piece for start, end in pairwise([0, *cuts[1:], len(text)]) if (piece := text[start:end])]


@lru_cache(maxsize=1)
def _punkt() -> PunktSentenceTokenizer:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer  # noqa: PLC0415 - takes a second

    parameters = PunktParameters()
    parameters.abbrev_types = _ABBREVIATIONS
    return PunktSentenceTokenizer(parameters)
