"""Replies of judges by similarity: the grade with the cosine that it was cut from."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

DECIMALS = 6
"""Decimals of a cosine in a reply, whose grade is cut from the rounded number."""

_COSINE = re.compile(rf"\(cosine (-?\d\.\d{{{DECIMALS}}})\)$")


def grade_of(cosine: float, cut_points: Sequence[float]) -> int:
    """The number of cut points, in ascending order, that are at most the rounded cosine."""
    return bisect_right(cut_points, round(cosine, DECIMALS))


def cosine_reply(cosine: float, cut_points: Sequence[float]) -> str:
    """The reply with a grade and its cosine, in a form that all reading rules of ratings read."""
    return (
        f"Final score: {grade_of(cosine, cut_points)} (cosine {round(cosine, DECIMALS) + 0.0:.{DECIMALS}f})"
    )


def cosine_in(reply: str) -> float | None:
    """The cosine in a reply of :func:`cosine_reply`; None in all other replies."""
    match = _COSINE.search(reply)
    return None if match is None else float(match[1])
