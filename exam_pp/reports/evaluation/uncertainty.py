"""Columns of a leaderboard for intervals, rank intervals, significance letters and bounds."""

from __future__ import annotations

from exam_pp.phases.evaluation.uncertainty import SystemUncertainty, Uncertainty
from exam_pp.rendering.document import Cell


def uncertainty_columns(doubts: Uncertainty, metric: str, *, formatted: bool) -> list[str]:
    """Names of the columns after a metric; for scripts they start with the metric's name."""
    shown = [name for name in ("low", "first", "letters", "best") if doubts.has(name, metric)]
    if formatted:
        names = {"low": "interval", "first": "rank", "letters": "letters", "best": "bounds"}
        return [names[name] for name in shown]
    scripts = {
        "low": ["low", "high"],
        "first": ["rank low", "rank high"],
        "letters": ["letters"],
        "best": ["worst case", "best case", "order open"],
    }
    return [f"{metric} {part}" for name in shown for part in scripts[name]]


def uncertainty_cells(
    doubts: Uncertainty, system: str, metric: str, *, formatted: bool, decimals: int = 3
) -> list[Cell]:
    """The cells under :func:`uncertainty_columns`; ``decimals`` are of intervals and bounds for people."""
    doubt = doubts.systems.get((system, metric), SystemUncertainty())
    cells: list[Cell] = []
    if doubts.has("low", metric):
        pair = _range(doubt.low, doubt.high, decimals)
        cells += [pair] if formatted else [doubt.low, doubt.high]
    if doubts.has("first", metric):
        cells += [_rank_range(doubt)] if formatted else [doubt.first, doubt.last]
    if doubts.has("letters", metric):
        cells.append(doubt.letters)
    if doubts.has("best", metric):
        mark = " ?" if doubt.order_open else ""
        pair = _range(doubt.worst, doubt.best, decimals)
        is_open = "yes" if doubt.order_open else ""
        cells += [pair and pair + mark] if formatted else [doubt.worst, doubt.best, is_open]
    return cells


def _range(low: float | None, high: float | None, decimals: int) -> str:
    return "" if low is None or high is None else f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def _rank_range(doubt: SystemUncertainty) -> str | None:
    if doubt.first == doubt.last:
        return None if doubt.first is None else str(doubt.first)
    return f"{doubt.first}–{doubt.last}"
