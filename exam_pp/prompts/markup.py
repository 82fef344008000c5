"""Removal of the markup of chat models from replies: LaTeX boxes, tags, and end-of-turn tokens."""

from __future__ import annotations

import re

_BOX = re.compile(r"\$?\\boxed\{(?:\\text\{)?([^{}]*)\}{1,2}\$?")
_TAG = re.compile(r"</?[a-z]\w*>|<\|\w+\|>", re.IGNORECASE)
END_OF_TURN = re.compile(r"<\|\w+\|>|</s>")


def without_markup(reply: str) -> str:
    """Remove tags and LaTeX boxes from a reply of a chat model."""
    return _TAG.sub("", _BOX.sub(r"\1", reply)) if "<" in reply or "\\" in reply else reply
