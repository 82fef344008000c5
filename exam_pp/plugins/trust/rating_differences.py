"""Differences of two graders' ratings (Bland-Altman): the bias and the limits of agreement."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from exam_pp.metrics.uncertainty import FEWEST_FOR_T, Interval

WITHIN_LIMITS = 1.96
"""Number of standard deviations from the mean within which 95 % of normally distributed values are."""


_JITTER = 0.25
"""Largest shift of a point, as a share of the distance of neighbouring values."""


class Estimate(NamedTuple):
    """A value and its confidence interval; None for too few items or queries, and without any spread."""

    value: float
    interval: Interval | None


class BlandAltman(NamedTuple):
    """Differences of two graders, first − second, on the same items.

    ``sd``: Standard deviation of the differences, with n − 1; None for a single item. ``lower``: Lower limit
    of agreement; None for a single item. ``upper``: Upper limit of agreement; None for a single item.
    """

    items: int
    sd: float | None
    bias: Estimate
    lower: Estimate | None
    upper: Estimate | None


def bland_altman(differences: Sequence[float], *, deviations: float = WITHIN_LIMITS) -> BlandAltman | None:
    """Bias and limits of agreement: mean ± 1.96 standard deviations of the differences.

    With n differences of standard deviation s, the standard error of the bias is √(s²/n), that of a limit
    √(3 s²/n). The 95 % intervals use the t distribution with n − 1 degrees of freedom; they treat items as
    independent and the differences as normally distributed.

    Source: Bland and Altman, "Statistical methods for assessing agreement between two methods of clinical
    measurement", The Lancet 327 (1986).

    ``differences``: The first rating minus the second, of each item. Returns the analysis; None without
    differences.
    """
    count = len(differences)
    if not count:
        return None
    values = np.asarray(differences, dtype=float)
    mean = float(values.mean())
    if count == 1:
        return BlandAltman(1, None, Estimate(mean, None), None, None)
    sd = float(values.std(ddof=1))
    quantile = float(stdtrit(count - 1, 0.975))

    def estimate(value: float, error: float) -> Estimate:
        if count < FEWEST_FOR_T or not error:
            return Estimate(value, None)
        return Estimate(value, Interval(value - quantile * error, value + quantile * error))

    of_limit = sqrt(3 * sd**2 / count)
    return BlandAltman(
        count,
        sd,
        estimate(mean, sd / sqrt(count)),
        estimate(mean - deviations * sd, of_limit),
        estimate(mean + deviations * sd, of_limit),
    )


def means_and_differences(
    pairs: Sequence[tuple[float, float]], *, limit: int = 2000, seed: int = 0
) -> list[tuple[float, float]]:
    """The points of a Bland-Altman plot: the mean of two ratings, and the first minus the second.

    On an ordinal scale many points coincide. Then all points are shifted at random, by at most a quarter of
    the distance between neighbouring values. Of more than ``limit`` points, ``limit`` are drawn at random.
    """
    ratings = np.asarray(pairs, dtype=float).reshape(-1, 2)
    points = np.column_stack([ratings.mean(axis=1), ratings[:, 0] - ratings[:, 1]])
    rng = np.random.default_rng(seed)
    if len(np.unique(points, axis=0)) < len(points):
        gaps = [np.diff(np.unique(column)).min(initial=1.0) for column in points.T]
        points += rng.uniform(-_JITTER, _JITTER, points.shape) * gaps
    if len(points) > limit:
        points = points[np.sort(rng.choice(len(points), limit, replace=False))]
    return [(float(mean), float(difference)) for mean, difference in points]
