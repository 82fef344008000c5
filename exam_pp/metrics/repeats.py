"""Spread of a score over repeated runs: mean, variance, coefficient of variation and mean/(1+sd).

Source: the consistency metrics of Open RAG Eval (Vectara, 2025).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import pvariance, variance

from exam_pp.metrics.leaderboard import exact_mean


@dataclass(frozen=True)
class Spread:
    """How much the values of repeated runs differ.

    ``variation``: Coefficient of variation: standard deviation / mean; lower is more consistent. None for the
    mean 0.
    """

    mean: float
    variance: float
    variation: float | None
    adjusted: float


def spread(values: Sequence[float], *, sample: bool = False) -> Spread:
    """Compute the spread of the values of one score over repeated runs.

    >>> over_three_runs = spread([0.5, 0.7, 0.9])
    >>> round(over_three_runs.mean, 4), round(over_three_runs.variance, 4)
    (0.7, 0.0267)
    >>> round(over_three_runs.variation, 4), round(over_three_runs.adjusted, 4)
    (0.2333, 0.6017)
    >>> round(spread([0.5, 0.7, 0.9], sample=True).variance, 4)
    0.04
    >>> spread([0.0, 0.0]).variation is None
    True
    """
    if len(values) < 2 or not all(map(math.isfinite, values)):
        raise ValueError(f"a spread needs two finite values, not {list(values)}")
    squared = float(variance(values) if sample else pvariance(values))
    deviation, average = math.sqrt(squared), exact_mean(list(values))
    variation = deviation / average if average else None
    return Spread(average, squared, variation, average / (1 + deviation))
