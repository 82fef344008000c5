"""Tokenisation of all scripts, stop words and Porter stemming: for comparing texts and for highlighting.

English stop words, for comparing answers and for the lexical grader.

The list of the Snowball project and NLTK, as single tokens (``don't`` is ``don`` and ``t``). It is part of
the package, so that results do not depend on a downloaded list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any
from unicodedata import normalize

_LIST = """
i me my myself we our ours ourselves you your yours yourself yourselves he him his himself she her hers
herself it its itself they them their theirs themselves what which who whom whose this that these those
am is are was were be been being have has had having do does did doing done would should could ought may
might must shall will can cannot a an the and but if or because as until while of at by for with about
against between into through during before after above below to from up down in out on off over under
again further then once here there when where why how all any both each few more most other some such
no nor not only own same so than too very just now also
s t d m o y ll re ve don isn aren wasn weren hasn haven hadn doesn didn won wouldn shan shouldn couldn
mustn mightn needn ain
"""

STOP_WORDS = frozenset(_LIST.split())


# Thai, Lao, Khmer, kana, CJK: scripts without spaces between words.
UNSPACED = r"\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
"""Letters of these scripts, as a part of a class of a pattern."""
# Vowel points of Arabic and Hebrew, and the Arabic stretch of a line, are written or left out.
POINTS = r"\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u0640\u064b-\u065f\u0670"
# Python does not count the vowel signs of these scripts as letters.
_SIGNS = r"\u0300-\u036f\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u0eb1-\u0ece\u17b4-\u17d3\u3099\u309a"
LETTER = rf"(?:[^\W_]|[{_SIGNS}{POINTS}])"
"""A pattern of one letter, digit or sign of a letter."""
WORD = re.compile(f"{LETTER}+")
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)+|{LETTER}+")
_POINTS = re.compile(f"[{POINTS}]")
_RUN = re.compile(rf"([{UNSPACED}\uac00-\ud7a3]+)")


def tokens(text: str) -> list[str]:
    """Split a text into lower-cased tokens of letters and digits; a number such as 3.5 is one token.

    Signs of equal meaning (Unicode's NFKC) are equal, and vowel points of Arabic and Hebrew are dropped.
    """
    return _TOKEN.findall(_POINTS.sub("", normalize("NFKC", text)).lower())


@lru_cache(maxsize=200_000)
def stem(token: str) -> str:
    """Return the Porter stem of a token."""
    return str(_porter().stem(token))


def content_stems(text: str, *, whole: bool = False) -> list[str]:
    """Return the stems of all tokens that are not stop words, in order.

    Where a script puts no spaces between words, and in Korean, each pair of neighbouring letters stands for a
    word, unless ``whole``.
    """
    found = [token for token in tokens(text) if token not in STOP_WORDS]
    return [stem(part) for token in found for part in ([token] if whole else _parts(token))]


def _parts(token: str) -> Iterator[str]:
    """The runs of letters of a token, those without spaces as pairs of neighbours."""
    if token.isascii():
        yield token
        return
    for number, run in enumerate(_RUN.split(token)):
        pairs = map("".join, pairwise(run)) if number % 2 and len(run) > 1 else [run]
        yield from filter(None, pairs)


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415 - slow to import

    return PorterStemmer()
