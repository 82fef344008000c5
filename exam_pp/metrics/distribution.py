"""Distribution of the scores of a system over queries: mean, median, quartiles and box-plot whiskers.

Source: Tukey, "Exploratory Data Analysis" (1977), chapter 2, with linear interpolation of the quartiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from exam_pp.metrics.leaderboard import exact_mean


@dataclass(frozen=True)
class Distribution:
    """The distribution of scores."""

    count: int
    mean: float
    low: float
    lower_quartile: float
    median: float
    upper_quartile: float
    high: float
    whiskers: tuple[float, float]
    outliers: tuple[float, ...]


def distribution(values: Sequence[float]) -> Distribution:
    """Describe the distribution of scores.

    >>> of_queries = distribution([0.0, 0.5, 0.5, 0.75, 1.0])
    >>> of_queries.mean, of_queries.lower_quartile, of_queries.median, of_queries.upper_quartile
    (0.55, 0.5, 0.5, 0.75)
    >>> of_queries.whiskers, of_queries.outliers
    ((0.5, 1.0), (0.0,))
    >>> distribution([0.5]).whiskers
    (0.5, 0.5)
    """
    if not values or not all(map(math.isfinite, values)):
        raise ValueError(f"a distribution needs finite values, not {list(values)}")
    column = sorted(map(float, values))
    first, middle, third = np.quantile(column, [0.25, 0.5, 0.75]).tolist()
    reach = 1.5 * (third - first)
    inside = [value for value in column if first - reach <= value <= third + reach]
    return Distribution(
        len(column),
        exact_mean(list(values)),
        column[0],
        first,
        middle,
        third,
        column[-1],
        (inside[0], inside[-1]),
        tuple(value for value in column if not inside[0] <= value <= inside[-1]),
    )
