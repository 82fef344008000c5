"""Positions of an extracted answer in its passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from exam_pp.text.sentences import plain_sentences
from exam_pp.text.stemming import LETTER, POINTS, UNSPACED, WORD

Span = tuple[int, int]
"""Start and end of a range of text, in characters (code points)."""

_UNSPACED = re.compile(f"[{UNSPACED}]")
_BETWEEN = rf"(?:(?!{LETTER})[\W_])"
_POINTS = re.compile(f"[{POINTS}]")
_MAX_ANSWER = 2000
"""Answers are truncated to this number of characters, because longer ones repeat the passage."""


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
    words = [word for found in WORD.findall(phrase) if (word := _POINTS.sub("", found))]
    if not words:
        return []
    if _UNSPACED.search(phrase):  # an answer may start after a letter, and blanks come and go
        pattern = rf"{_BETWEEN}*+".join(re.escape(letter) for word in words for letter in word)
    else:
        after = "" if phrase.isascii() else f"[{POINTS}]*+"
        spelled = ("".join(re.escape(letter) + after for letter in word) for word in words)
        pattern = rf"(?<!{LETTER}){rf'{_BETWEEN}++'.join(spelled)}(?!{LETTER})"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
