"""Positions of an extracted answer in its passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Span = tuple[int, int]
"""Start and end of a range of text, in characters (code points)."""

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\s*\n\s*")
# Thai, Lao, Khmer, kana, CJK: scripts without spaces between words, so an answer may start after a letter.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_MAX_ANSWER = 2000
"""Answers are truncated to this number of characters, because longer ones repeat the passage."""


def answer_spans(text: str, answer: str) -> list[Span]:
    """Return the spans of an answer in a text, ignoring case, whitespace and punctuation.

    If the text does not contain the whole answer, the spans of its sentences are returned. The list is empty
    if the text contains no sentence of the answer.
    """
    answer = answer[:_MAX_ANSWER]
    return _occurrences(text, answer) or merge_spans(
        span for sentence in _SENTENCE.split(answer) for span in _occurrences(text, sentence)
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
    tokens = _WORD.findall(phrase)
    if not tokens:
        return []
    pattern = r"[\W_]+".join(map(re.escape, tokens))
    if not _UNSPACED.search(phrase):
        pattern = rf"(?<![^\W_]){pattern}(?![^\W_])"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
