"""What a model thought aloud before it replied."""

from __future__ import annotations

import re

_BEGIN = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_END = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


def without_thoughts(reply: str) -> str | None:
    """What follows the last ``</think>``, or the whole reply; None where the thoughts do not end.

    Some chat templates put ``<think>`` into the prompt, so that the reply has its end alone.
    """
    said = _END.split(reply)[-1]
    return None if _BEGIN.match(said) else said
