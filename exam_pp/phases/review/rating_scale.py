"""Rating scale of a prompt for reviewers: labels, keys and meanings."""

from __future__ import annotations

import re
from typing import NamedTuple

from exam_pp.banks import LABEL_RATINGS
from exam_pp.errors import SelectionError
from exam_pp.prompts import Prompt

_MEANING = re.compile(r"^(?:- )?(\d+)\s*[:=]\s*(.+)$", re.MULTILINE)
_PLAIN = ("wrong", "right")
_LONGEST = 1000
"""The highest rating that a scale may have, so that the review page can draw it."""

RESERVED_KEYS = frozenset("jklhuaxc")
"""Letters that are shortcuts of the review page."""


class ScaleStep(NamedTuple):
    """A rating of the scale: its label, its key on the review page (or ""), and its meaning in the prompt."""

    rating: int
    label: str
    key: str = ""
    meaning: str = ""


def rating_scale(prompt: Prompt | None, best_seen: int | None = None) -> list[ScaleStep]:
    """The steps of a prompt's scale, lowest first.

    The scale of an unknown prompt (None) ends at ``best_seen``, the highest rating in the file. Prompts
    without a scale have the ratings 0 and 1. Raises :class:`~exam_pp.errors.SelectionError` if ``best_seen``
    is too high for a scale.
    """
    if prompt is None:
        highest = max(best_seen or 0, 1)
        if highest > _LONGEST:
            raise SelectionError(f"The file has a rating of {highest}; a scale ends at {_LONGEST} at most.")
        return [ScaleStep(rating, str(rating)) for rating in range(highest + 1)]
    if prompt.kind == "assignment":
        return _with_keys([ScaleStep(LABEL_RATINGS[label], label) for label in prompt.choices])
    if prompt.max_rating is not None and not prompt.choices:
        meanings = {int(rating): meaning for rating, meaning in _MEANING.findall(prompt.template)}
        return [
            ScaleStep(rating, str(rating), meaning=meanings.get(rating, ""))
            for rating in range(prompt.max_rating + 1)
        ]
    return _with_keys([ScaleStep(rating, label) for rating, label in enumerate(prompt.choices or _PLAIN)])


def _with_keys(steps: list[ScaleStep]) -> list[ScaleStep]:
    """Set the key of each step to the first letter of its label, unless that is ambiguous or reserved."""
    letters = [step.label[:1].lower() for step in steps]
    return [
        step._replace(key=letter)
        if letters.count(letter) == 1 and letter.isalpha() and letter not in RESERVED_KEYS
        else step
        for step, letter in zip(steps, letters, strict=True)
    ]
