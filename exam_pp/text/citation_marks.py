"""Citation marks in answers, such as ``[1]``, ``[2][3]`` and ``[1, 2]``."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate, pairwise

from exam_pp.text.sentences import sentences

_NUMBERS = r"\[\s*\d+(?:\s*,\s*\d+)*\s*\]"
_NEXT = re.compile(r"\s+(\S)")
_CLOSING = " \n.,;:!?\"')"
_HEADING = re.compile(r"\W*(?:sources?|references?|citations?|quellen)\s*:\W*", re.IGNORECASE)
"""What stands before a list of marks below an answer, and says nothing itself."""
_CITATIONS = re.compile(rf"{_NUMBERS}(?:\s*(?:[,;]\s*)?{_NUMBERS})*")


def cited_sentences(text: str) -> tuple[list[tuple[str, tuple[str, ...]]], int]:
    """Split an answer into sentences, each with the numbers that it cites; count citations inside sentences.

    Citation marks are removed from the text. A mark at the start of a sentence belongs to the sentence before
    it. A mark before a capital letter ends a sentence, even without a full stop. A line "Sources:" with marks
    alone is not part of the answer.
    """
    plain = ""
    marks: list[tuple[int, tuple[str, ...]]] = []
    borders = [0]
    end = 0
    for match in _CITATIONS.finditer(text):
        plain += text[end : match.start()].rstrip()
        marks.append((len(plain), tuple(re.findall(r"\d+", match[0]))))
        end = match.end()
        following = _NEXT.match(text, end)
        if following and following[1].isupper():
            borders.append(len(plain))
        elif plain and text[end : end + 1].isalnum():
            plain += " "
    plain += text[end:]
    if not plain.strip():
        return ([(text.strip(), ())] if text.strip() else []), 0
    stretches = [plain[start:stop] for start, stop in pairwise([*borders, len(plain)])]
    pieces = [piece for stretch in stretches for piece in sentences(stretch)]
    ends = list(accumulate(map(len, pieces)))
    cited: list[tuple[str, dict[str, None]]] = [(piece.strip(), {}) for piece in pieces]
    inside = 0
    for position, numbers in marks:
        index = bisect_left(ends, max(position, 1))
        cited[index][1].update(dict.fromkeys(numbers))
        inside += bool(plain[position : ends[index]].strip(_CLOSING))
    kept = [(part, tuple(numbers)) for part, numbers in cited if part and not _HEADING.fullmatch(part)]
    return kept, inside
