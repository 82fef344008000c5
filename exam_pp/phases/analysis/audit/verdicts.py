"""Verdicts of the sections of an audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from exam_pp.metrics.uncertainty import Interval

Outcome = Literal["evidence", "no evidence", "undecided"]


LEAST_QUERIES = 10
"""Fewest queries for a verdict by an interval: with fewer, intervals over resampled queries are too narrow.

Source: Cameron, Gelbach and Miller, "Bootstrap-based improvements for inference with clustered errors",
Review of Economics and Statistics 90 (2008): too many false alarms with 5 to 10 clusters.
"""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a section of an audit, with its reason.

    ``outcome``: Whether the data show the bias, do not show it, or cannot say. ``reason``: The reason with
    its number, as a sentence without capital and full stop.
    """

    outcome: Outcome
    reason: str

    @property
    def sentence(self) -> str:
        """The verdict as one sentence."""
        return f"{self.outcome.capitalize()}: {self.reason}."


def undecided(reason: str) -> Verdict:
    """The verdict ``undecided``."""
    return Verdict("undecided", reason)


def too_few(queries: int, number: str) -> Verdict:
    """The verdict without an interval that can be trusted; ``number`` says what was found."""
    reason = "all samples of the queries agree, which says nothing about other queries"
    if queries < LEAST_QUERIES:
        reason = f"a verdict needs at least {LEAST_QUERIES} queries, here {queries}"
    return undecided(f"{reason}; {number}")


def excludes(interval: Interval, value: float = 0.0) -> bool:
    """Whether an interval excludes a value."""
    return not interval.low <= value <= interval.high


def with_interval(value: float, interval: Interval | None, confidence: float, unit: str = "") -> str:
    """A number with its interval: ``0.12 (95 % interval 0.03 to 0.20)``."""
    if interval is None:
        return f"{value:z.3f}{unit}"
    return (
        f"{value:z.3f}{unit} ({100 * confidence:.4g} % interval {interval.low:z.3f} to {interval.high:z.3f})"
    )
