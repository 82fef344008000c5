"""Signs of bad bank entries: name, title, and when an entry has each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exam_pp.metrics.clinic import EntryHealth


@dataclass(frozen=True)
class ClinicOptions:
    """Thresholds.

    ``min_grade`` is the grade from which an entry is covered (None: 4, the highest grade of a shorter scale,
    1 for prompts without one); judgments below ``min_relevant`` are non-relevant. An entry is covered by
    everybody from the pass rate ``everybody`` on, often covered by non-relevant passages if at least
    ``often`` of them are the share ``mostly`` of its judged passing ones, and does not discriminate at or
    below ``discrimination`` (with ``often`` passing passages). Near-duplicates that behave alike have at
    least the Jaccard index ``behaviour`` of the passages that pass.
    """

    min_grade: int | None = None
    cutoff: int = 20
    min_relevant: int = 1
    everybody: float = 0.95
    often: int = 3
    mostly: float = 0.5
    discrimination: float = 0.1
    behaviour: float = 0.8
    samples: int = 20
    seed: int = 0


Reason = Callable[["EntryHealth", int, ClinicOptions], str | None]
"""Why an entry, asked at least once, has a sign; None if it has not. The number is the grade to reach."""


@dataclass(frozen=True)
class Sign:
    """A sign of a bad entry; without ``reason`` it is found by comparing entries with each other."""

    name: str
    title: str
    reason: Reason | None = None


def _everybody(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    if entry.pass_rate is None or entry.pass_rate < options.everybody:
        return None
    return f"{entry.passing} of {entry.asked} passages reach grade {min_grade}"


def _nobody(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    return None if entry.passing else f"none of {entry.asked} passages reaches grade {min_grade}"


def _non_relevant(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    bad = entry.non_relevant
    if bad < options.often or bad < options.mostly * entry.judged:
        return None
    return f"{bad} of {entry.judged} judged passages that cover it are non-relevant"


def _discrimination(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    r = entry.discrimination
    if entry.passing < options.often or r is None or r > options.discrimination:
        return None
    return f"passages that cover it do not cover more of the other entries (r = {r:.2f})"


def _closed_book(entry: EntryHealth, min_grade: int, options: ClinicOptions) -> str | None:
    if entry.closed_book is None or entry.closed_book < min_grade:
        return None
    return f"the model gives it grade {entry.closed_book} without a passage"


SIGNS = (
    Sign("everybody", "Covered by everybody", _everybody),
    Sign("nobody", "Covered by nobody", _nobody),
    Sign("non-relevant", "Covered mostly by non-relevant passages", _non_relevant),
    Sign("discrimination", "Not related to the rest of the exam", _discrimination),
    Sign("duplicate", "Repetitions"),
    Sign("closed-book", "Answerable without the passage", _closed_book),
)
"""All signs, in the order of reports and of ``exam-pp bank clinic --propose``."""

SIGN_NAMES = tuple(sign.name for sign in SIGNS)
