"""Notes on official ranks and unmatched systems, and formatted intervals."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.analysis.correlation import OfficialRanks

COEFFICIENTS = ("Spearman", "Kendall tau-b", "tau-AP", "top-{} overlap")
"""Column names of the four coefficients of a correlation, in their order."""


def measure_notes(official: OfficialRanks) -> list[str]:
    """A note on the measure that ranks the systems; empty for a file of ranks."""
    if not official.measure:
        return []
    return [f"{official.source} has scores, so its systems are ranked by {official.measure}."]


def unmatched_notes(
    systems: Collection[str], ranks: Collection[str], leaderboard: str | Path, official: str | Path
) -> list[str]:
    """A note for each side that has unmatched systems; ``leaderboard`` and ``official`` name the sides."""
    notes = []
    for only, where in ((set(systems) - set(ranks), leaderboard), (set(ranks) - set(systems), official)):
        if only:
            notes.append(f"Only in {where}: {', '.join(sorted(only))}.")
    return notes


def formatted_interval(interval: Interval | None, decimals: int) -> str:
    """Format an interval as ``[low, high]``; empty for None."""
    return "" if interval is None else f"[{interval.low:z.{decimals}f}, {interval.high:z.{decimals}f}]"
