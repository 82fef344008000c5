"""Tokenisation and Porter stemming, for comparing answers and for the lexical grader."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from exam_pp.stopwords import STOP_WORDS

_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")


def tokens(text: str) -> list[str]:
    """Split a text into lower-cased tokens of letters and digits; a number such as 3.5 is one token."""
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=200_000)
def stem(token: str) -> str:
    """Return the Porter stem of a token."""
    return str(_porter().stem(token))


def content_stems(text: str) -> list[str]:
    """Return the stems of all tokens that are not stop words, in order."""
    return [stem(token) for token in tokens(text) if token not in STOP_WORDS]


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415 - slow to import

    return PorterStemmer()
