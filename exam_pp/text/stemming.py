"""Tokenisation, stop words and Porter stemming, for comparing answers and for the lexical grader.

English stop words, for comparing answers and for the lexical grader.

The list of the Snowball project and NLTK, as single tokens (``don't`` is ``don`` and ``t``). It is part of
the package, so that results do not depend on a downloaded list.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

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
