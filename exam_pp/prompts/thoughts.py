"""What a model thought aloud before it replied."""

from __future__ import annotations

import re
from collections.abc import Iterable

from exam_pp.messages import THOUGHT_MARKS


def _any_of(marks: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, marks))})"


_BEGIN = re.compile(r"\s*" + _any_of(begin for begin, _ in THOUGHT_MARKS), re.IGNORECASE)
_END = re.compile(_any_of(end for _, end in THOUGHT_MARKS), re.IGNORECASE)


def without_thoughts(reply: str) -> str | None:
    """What follows the last ``</think>``, or the whole reply; None where the thoughts do not end.

    Where a chat template puts ``<think>`` into the prompt, an endpoint's reply has its end alone.
    """
    said = _END.split(reply)[-1]
    return None if _BEGIN.match(said) else said
