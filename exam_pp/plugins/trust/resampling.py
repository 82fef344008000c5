"""Statistics of sums over queries, with their intervals over resampled queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.uncertainty import Interval, intervals, query_counts
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.rendering.document import Cell

_CELLS = 2_000_000
"""Number of resampled numbers in memory at a time."""


class Estimate(NamedTuple):
    """A number with its interval over queries; None is undefined."""

    value: float | None
    interval: Interval | None

    @property
    def cells(self) -> list[Cell]:
        """The number and the ends of its interval, as cells of a table."""
        return [self.value, *(self.interval or (None, None))]

    def text(self, confidence: float, unit: str = "") -> str:
        """The number with its interval: ``0.12 (95 % interval 0.03 to 0.20)``."""
        if self.value is None:
            return "undefined"
        number = f"{self.value:z.3f}{unit}"
        if self.interval is None:
            return number
        low, high = self.interval
        return f"{number} ({100 * confidence:.4g} % interval {low:z.3f} to {high:z.3f})"


def over_queries(parts: Floats, statistic: Callable[[Floats], Floats], statistics: Statistics) -> Estimate:
    """A statistic of the sum of the queries' parts, with its interval over resampled queries.

    ``statistic``: Of each row of sums; NaN is undefined.
    """
    (value,) = statistic(parts.sum(axis=0)[None]).tolist()
    counts = query_counts(len(parts), statistics.samples, statistics.seed)
    blocks = np.array_split(counts, 1 + counts.shape[0] * parts[0].size // _CELLS)
    drawn = np.concatenate([statistic(np.tensordot(block, parts, axes=1)) for block in blocks])
    (interval,) = intervals(drawn[:, None], len(parts), statistics.confidence)
    return Estimate(None if np.isnan(value) else value, interval)
