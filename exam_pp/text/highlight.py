"""Positions of an extracted answer in its passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from exam_pp.text.sentences import plain_sentences
from exam_pp.text.stemming import POINTS, UNSPACED, WORD

Span = tuple[int, int]
"""Start and end of a range of text, in characters (code points)."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_POINTS = frozenset(filter(re.compile(f"[{POINTS}]").match, map(chr, range(0x700))))
_LAST = re.compile(f".[{POINTS}]*", re.DOTALL)
# Letters whose lower case has another length, or that are another sign of the same letter.
_FOLDED = str.maketrans("İıſµ", "iisμ")
_MAX_ANSWER = 2000  # characters; longer answers repeat the passage


def answer_spans(text: str, answer: str) -> list[Span]:
    """Return the spans of an answer in a text, ignoring case, whitespace and punctuation.

    If the text does not contain the whole answer, the spans of its sentences are returned. The list is empty
    if the text contains no sentence of the answer.
    """
    answer = answer[:_MAX_ANSWER]
    return _occurrences(text, answer) or merge_spans(
        span for sentence in plain_sentences(answer) for span in _occurrences(text, sentence)
    )


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Sort spans and merge those that touch or overlap."""
    result: list[Span] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((start, end))
    return result


def split_at_spans(text: str, spans: Sequence[Span]) -> list[tuple[str, bool]]:
    """Split a text at the spans into pairs (piece, whether it is inside a span), without empty pieces."""
    cut: list[tuple[str, bool]] = []
    position = 0
    for start, end in merge_spans(spans):
        cut += [(text[position:start], False), (text[start:end], True)]
        position = end
    return [(piece, inside) for piece, inside in [*cut, (text[position:], False)] if piece]


def _occurrences(text: str, phrase: str) -> list[Span]:
    # Where words have no spaces, an answer may start after a letter, and blanks come and go.
    blank = "" if _UNSPACED.search(phrase) else " "
    letters, places = _letters(text, blank)
    sought, _ = _letters(phrase, blank)
    spans: list[Span] = []
    at = letters.find(sought) if sought.strip() else -1
    while at >= 0:
        after = at + len(sought) - len(blank)  # Neighbours share a blank.
        spans.append((places[at + len(blank)], _LAST.match(text, places[after - 1]).end()))  # type: ignore[union-attr]
        at = letters.find(sought, after)
    return spans


@lru_cache(maxsize=8)  # A passage is asked for one answer after the other.
def _letters(text: str, blank: str) -> tuple[str, list[int]]:
    """The letters of a text in lower case without vowel points, blanks around each word, and their places."""
    folded = text.translate(_FOLDED).lower().replace("ς", "σ")
    letters = [(blank, 0)]
    for word in WORD.finditer(folded):
        letters += [pair for pair in zip(word[0], range(*word.span()), strict=True) if pair[0] not in _POINTS]
        letters.append((blank, 0))
    return "".join(letter for letter, _ in letters), [at for letter, at in letters if letter]
