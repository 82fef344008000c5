"""Leaderboard columns of intervals, rank intervals, significance letters and bounds."""

from __future__ import annotations

from exam_pp.phases.evaluation.uncertainty import SystemUncertainty, Uncertainty
from exam_pp.rendering.document import Cell


def uncertainty_columns(uncertainty: Uncertainty, metric: str, *, formatted: bool) -> list[str]:
    """Names of the columns after a metric; without ``formatted`` they start with the metric's name."""
    fields = [name for name in ("low", "first", "letters", "best") if uncertainty.has(name, metric)]
    if formatted:
        names = {"low": "interval", "first": "rank", "letters": "letters", "best": "bounds"}
        return [names[name] for name in fields]
    script_names = {
        "low": ["low", "high"],
        "first": ["rank low", "rank high"],
        "letters": ["letters"],
        "best": ["worst case", "best case", "order open"],
    }
    return [f"{metric} {part}" for name in fields for part in script_names[name]]


def uncertainty_cells(
    uncertainty: Uncertainty, system: str, metric: str, *, formatted: bool, decimals: int = 3
) -> list[Cell]:
    """The cells of the columns :func:`uncertainty_columns`; ``decimals`` apply to formatted cells."""
    row = uncertainty.systems.get((system, metric), SystemUncertainty())
    cells: list[Cell] = []
    if uncertainty.has("low", metric):
        pair = _range(row.low, row.high, decimals)
        cells += [pair] if formatted else [row.low, row.high]
    if uncertainty.has("first", metric):
        cells += [_rank_range(row)] if formatted else [row.first, row.last]
    if uncertainty.has("letters", metric):
        cells.append(row.letters)
    if uncertainty.has("best", metric):
        mark = " ?" if row.order_open else ""
        pair = _range(row.worst, row.best, decimals)
        is_open = "yes" if row.order_open else ""
        cells += [pair and pair + mark] if formatted else [row.worst, row.best, is_open]
    return cells


def _range(low: float | None, high: float | None, decimals: int) -> str:
    return "" if low is None or high is None else f"[{low:.{decimals}f}, {high:.{decimals}f}]"


def _rank_range(row: SystemUncertainty) -> str | None:
    if row.first == row.last:
        return None if row.first is None else str(row.first)
    return f"{row.first}–{row.last}"
