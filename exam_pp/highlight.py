"""Where an extracted answer stands in its passage."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

Span = tuple[int, int]
"""Start and end of a stretch of text, in characters (code points)."""

_WORD = re.compile(r"[^\W_]+")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\s*\n\s*")
# Thai, Lao, Khmer, kana, CJK: scripts without spaces, in which an answer may start inside a run of letters.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_LONGEST = 2000
"""Characters of an answer that are looked for: a longer one repeats its passage."""


def answer_spans(text: str, answer: str) -> list[Span]:
    """Every place where the words of an answer stand in a row, whatever case, spaces and punctuation.

    Where the whole answer stands nowhere, the places of its single sentences. Empty for an answer that is
    in the model's own words.
    """
    answer = answer[:_LONGEST]
    return _places(text, answer) or merged(
        span for sentence in _SENTENCE.split(answer) for span in _places(text, sentence)
    )


def merged(spans: Iterable[Span]) -> list[Span]:
    """Spans in order, those that touch or overlap as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def pieces(text: str, spans: Sequence[Span]) -> list[tuple[str, bool]]:
    """The text cut at the spans: every piece, and whether it is inside one."""
    cut: list[tuple[str, bool]] = []
    position = 0
    for start, end in merged(spans):
        cut += [(text[position:start], False), (text[start:end], True)]
        position = end
    return [(piece, inside) for piece, inside in [*cut, (text[position:], False)] if piece]


def _places(text: str, words: str) -> list[Span]:
    tokens = _WORD.findall(words)
    if not tokens:
        return []
    pattern = r"[\W_]+".join(map(re.escape, tokens))
    if not _UNSPACED.search(words):
        pattern = rf"(?<![^\W_]){pattern}(?![^\W_])"
    return [match.span() for match in re.finditer(pattern, text, re.IGNORECASE)]
