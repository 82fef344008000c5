"""The answer scale's labels as token sequences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def label_pieces(tokenizer: Any, labels: Sequence[str]) -> list[list[int]]:
    """The token ids of each label alone."""
    return [tokenizer(label, add_special_tokens=False)["input_ids"] for label in labels]
