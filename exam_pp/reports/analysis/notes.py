"""Notes on official leaderboards, and intervals as cells."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.analysis.correlation import OfficialRanks

FIGURES = ("Spearman", "Kendall tau-b", "tau-AP", "top-{} overlap")
"""Names of the four figures of a correlation, in their order."""


def about_ranks(official: OfficialRanks) -> list[str]:
    """A note where the file holds scores."""
    if not official.measure:
        return []
    return [f"{official.source} holds scores: its systems are ranked by {official.measure}."]


def one_sided(
    systems: Collection[str], ranks: Collection[str], leaderboard: str | Path, official: str | Path
) -> list[str]:
    """A note for each side that has systems of its own; ``leaderboard`` and ``official`` name the sides."""
    notes = []
    for only, where in ((set(systems) - set(ranks), leaderboard), (set(ranks) - set(systems), official)):
        if only:
            notes.append(f"Only in {where}: {', '.join(sorted(only))}.")
    return notes


def shown_interval(interval: Interval | None, decimals: int) -> str:
    """An interval for people; empty for None."""
    return "" if interval is None else f"[{interval.low:z.{decimals}f}, {interval.high:z.{decimals}f}]"
