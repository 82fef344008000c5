"""The ratings that a person may give: the scale of the prompt, with its words."""

from __future__ import annotations

import re
from typing import NamedTuple

from exam_pp.errors import SelectionError
from exam_pp.prompts import Prompt
from exam_pp.test_bank import ASSIGNMENT_RATINGS

_MEANING = re.compile(r"^(?:- )?(\d+)\s*[:=]\s*(.+)$", re.MULTILINE)
_PLAIN = ("wrong", "right")
_LONGEST = 1000
"""The highest rating of a scale: one that people step through, and a page draws."""

RESERVED_KEYS = frozenset("jklhuaxc")
"""Letters that mean something else on the review page."""


class Step(NamedTuple):
    """A rating of the scale: its label, the letter that sets it (or ""), and what the prompt says of it."""

    rating: int
    label: str
    key: str = ""
    meaning: str = ""


def rating_scale(prompt: Prompt | None, best_seen: int | None = None) -> list[Step]:
    """The steps of a prompt's scale, lowest first.

    A prompt that is not known has a scale up to the highest rating that was seen. Prompts without a
    scale have the ratings 0 and 1, as their grades do. Raises :class:`~exam_pp.errors.SelectionError` for a
    rating that is no step of a scale.
    """
    if prompt is None:
        highest = max(best_seen or 0, 1)
        if highest > _LONGEST:
            raise SelectionError(
                f"The file has a rating of {highest}: that is no scale from 0 to {_LONGEST}."
            )
        return [Step(rating, str(rating)) for rating in range(highest + 1)]
    if prompt.kind == "assignment":
        return _with_keys([Step(ASSIGNMENT_RATINGS[label], label) for label in prompt.choices])
    if prompt.max_rating is not None and not prompt.choices:
        meanings = {int(rating): words for rating, words in _MEANING.findall(prompt.template)}
        return [
            Step(rating, str(rating), meaning=meanings.get(rating, ""))
            for rating in range(prompt.max_rating + 1)
        ]
    return _with_keys([Step(rating, label) for rating, label in enumerate(prompt.choices or _PLAIN)])


def _with_keys(steps: list[Step]) -> list[Step]:
    """The first letter of each label, where that says which one is meant."""
    letters = [step.label[:1].lower() for step in steps]
    return [
        step._replace(key=letter)
        if letters.count(letter) == 1 and letter.isalpha() and letter not in RESERVED_KEYS
        else step
        for step, letter in zip(steps, letters, strict=True)
    ]
