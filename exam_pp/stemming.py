"""Tokens and Porter stems of a text, for comparing answers and for the lexical grader."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from exam_pp.stopwords import STOP_WORDS

_TOKEN = re.compile(r"\d+(?:[.,]\d+)+|[^\W_]+")


def tokens(text: str) -> list[str]:
    """Lower-cased runs of letters and digits; ``.`` and ``,`` stay between digits (3.5 is one token)."""
    return _TOKEN.findall(text.lower())


@lru_cache(maxsize=200_000)
def stem(token: str) -> str:
    """The Porter stem."""
    return str(_porter().stem(token))


def content_stems(text: str) -> list[str]:
    """The stems of all words that are no stop words, in order."""
    return [stem(token) for token in tokens(text) if token not in STOP_WORDS]


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415 - slow to import, and few commands stem

    return PorterStemmer()
