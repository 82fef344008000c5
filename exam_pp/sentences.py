"""Sentence boundaries of a text, by NLTK's Punkt algorithm."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk.tokenize.punkt import PunktSentenceTokenizer

# Punkt learns abbreviations from text; ours are fixed, so that units depend on nothing but the answer.
_ABBREVIATIONS = {
    "a.m", "al", "approx", "ave", "ca", "cf", "co", "col", "corp", "dept", "dr", "e.g", "ed", "eds", "etc",
    "fig", "gov", "i.e", "inc", "jr", "ltd", "mr", "mrs", "ms", "p.m", "pp", "prof", "rev", "sgt", "sr",
    "st", "u.k", "u.s", "univ", "vol", "vs",
}  # fmt: skip
_LINE_STARTS = re.compile(r"\n[^\S\n]*\n\s*|\n\s*(?=[-*•]\s|\d{1,3}[.)]\s|#)")
"""A blank line, or the start of a list item or heading, ends a sentence without a full stop."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, with the white space between them: joined they are the text again.

    Boundaries are those of NLTK's Punkt algorithm (Kiss and Strunk, 2006) with a fixed list of
    English abbreviations, and blank lines and list items.
    """
    starts = [0, *(match.end() for match in _LINE_STARTS.finditer(text)), len(text)]
    cuts = [
        start + offset
        for start, end in pairwise(starts)
        for offset, _ in _punkt().span_tokenize(text[start:end])
    ]
    # White space before the first sentence belongs to it.
    return [piece for start, end in pairwise([0, *cuts[1:], len(text)]) if (piece := text[start:end])]


@lru_cache(maxsize=1)
def _punkt() -> PunktSentenceTokenizer:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer  # noqa: PLC0415 - takes a second

    parameters = PunktParameters()
    parameters.abbrev_types = _ABBREVIATIONS
    return PunktSentenceTokenizer(parameters)
