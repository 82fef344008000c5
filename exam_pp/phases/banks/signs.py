"""Signs of bad bank entries, with their names, titles and thresholds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exam_pp.defaults import MIN_JUDGMENT

if TYPE_CHECKING:
    from exam_pp.metrics.clinic import EntryHealth


@dataclass(frozen=True)
class ClinicOptions:
    """Thresholds of the signs.

    ``min_grade`` is the lowest grade that counts as covered (None: 4, or the highest grade of a shorter
    scale, or 1 for prompts without a scale). Judgments below ``min_relevant`` are non-relevant. An entry has
    the sign

    - too-easy, if at least the share ``too_easy`` of its graded passages cover it;
    - non-relevant, if at least ``often`` non-relevant passages cover it, and these are at least the share
      ``mostly`` of the judged passages that cover it;
    - discrimination, if at least ``often`` passages cover it, and its correlation with the other entries
      is at most ``discrimination``;
    - duplicate, if it is a near-duplicate of another entry, and the Jaccard index of the passages that cover
      the two entries is at least ``behaviour``.

    The curve of bank sizes draws ``samples`` random banks of each size with ``seed``.
    """

    min_grade: int | None = None
    cutoff: int | None = None
    min_relevant: int = MIN_JUDGMENT
    too_easy: float = 0.95
    often: int = 3
    mostly: float = 0.5
    discrimination: float = 0.1
    behaviour: float = 0.8
    samples: int = 20
    seed: int = 0


Reason = Callable[["EntryHealth", int, ClinicOptions], str | None]
"""Returns the reason why a graded entry has a sign, or None; the number is the threshold ``min_grade``."""


@dataclass(frozen=True)
class Sign:
    """A sign of a bad entry; ``reason`` is None for a sign that is computed from pairs of entries."""

    name: str
    title: str
    reason: Reason | None = None


def _too_easy(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    if entry.pass_rate is None or entry.pass_rate < options.too_easy:
        return None
    return f"{entry.passing} of {entry.asked} passages cover it with grade {min_grade} or more"


def _too_hard(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    return None if entry.passing else f"0 of {entry.asked} passages cover it with grade {min_grade} or more"


def _non_relevant(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    bad = entry.non_relevant
    if bad < options.often or bad < options.mostly * entry.judged:
        return None
    return f"{bad} of {entry.judged} judged passages that cover it are non-relevant"


def _discrimination(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    r = entry.discrimination
    if entry.passing < options.often or r is None or r > options.discrimination:
        return None
    return f"passages that cover it do not cover more of the rest of the exam (r = {r:.2f})"


def _closed_book(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    if entry.closed_book is None or entry.closed_book < min_grade:
        return None
    return f"the model gives grade {entry.closed_book} without a passage"


SIGNS = (
    Sign("too-easy", "Covered by nearly all passages", _too_easy),
    Sign("too-hard", "Covered by no passage", _too_hard),
    Sign("non-relevant", "Covered mostly by non-relevant passages", _non_relevant),
    Sign("discrimination", "Not related to the rest of the exam", _discrimination),
    Sign("duplicate", "Duplicates"),
    Sign("closed-book", "Answered closed book", _closed_book),
)
"""All signs, in the order of reports and of ``exam-pp bank clinic --propose``."""

SIGN_NAMES = tuple(sign.name for sign in SIGNS)
