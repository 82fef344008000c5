"""Removal of thinking text, LaTeX boxes, tags and end-of-turn tokens from replies."""

from __future__ import annotations

import re
from collections.abc import Iterable

from exam_pp.llm_requests import THINKING_TAGS

_BOX = re.compile(r"\$?\\boxed\{(?:\\text\{)?([^{}]*)\}{1,2}\$?")
_TAG = re.compile(r"</?[a-z]\w*>|<\|\w+\|>", re.IGNORECASE)
END_OF_TURN = re.compile(r"<\|\w+\|>|</s>")


def without_markup(reply: str) -> str:
    """Remove tags and LaTeX boxes from a reply of a chat model."""
    return _TAG.sub("", _BOX.sub(r"\1", reply)) if "<" in reply or "\\" in reply else reply


def _any_of(marks: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, marks))})"


_BEGIN = re.compile(r"\s*" + _any_of(begin for begin, _ in THINKING_TAGS), re.IGNORECASE)
_END = re.compile(_any_of(end for _, end in THINKING_TAGS), re.IGNORECASE)


def without_thinking(reply: str) -> str | None:
    """Return the text after the last ``</think>``, or the whole reply without thinking text.

    Returns None if the thinking text has no end. ``<think>`` may be missing, because some chat templates put
    it into the prompt.
    """
    text = _END.split(reply)[-1]
    return None if _BEGIN.match(text) else text
