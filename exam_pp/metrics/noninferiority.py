"""Noninferiority: one-sided bounds of the drop of a mean, paired over queries, and the p-values with them."""

from __future__ import annotations

from math import ceil, log, log1p
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics.significance import QueriesNeeded, queries_to_detect_range
from exam_pp.metrics.uncertainty import dirichlet_cdf, lower_limit, upper_limit

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

TOLERANCE = 1e-12
"""Numbers that differ by less are equal, so that rounding errors do not decide."""
_BILLION = 10**9
_SMALLEST = 1e-12


class DropBounds(NamedTuple):
    """One-sided bounds of a mean drop, and the p-values that agree with them.

    ``p_within``: p-value of the hypothesis that the drop is larger than the limit; small values show that it
    is not.
    """

    low: float
    high: float
    p_above: float
    p_within: float


def drop_bounds(
    drops: ArrayLike, limit: float, worst: float = 1.0, confidence: float = CONFIDENCE
) -> DropBounds:
    """Bounds of the mean drop, and one-sided p-values of whether it is larger than a limit.

    The bounds are Gaffke's (:mod:`exam_pp.metrics.uncertainty`). The upper one adds an unseen query that
    drops by ``worst``, and the lower one an unseen query that rises by it. If all drops are equal, the upper
    bound is drop + (worst − drop) · (1 − (1 − confidence)^(1/n)), which is the rule of three (Hanley and
    Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249, 1983).

    Source of the use of bounds: Walker and Nowacki, "Understanding equivalence and noninferiority testing",
    Journal of General Internal Medicine 26 (2011).

    ``confidence``: Level of each bound; the two together are an interval of level 2 × ``confidence`` − 1.
    """
    values = np.asarray(drops, dtype=float)
    return DropBounds(
        lower_limit(values, -worst, 1 - confidence),
        upper_limit(values, worst, 1 - confidence),
        dirichlet_cdf(np.append(values, -worst), limit),
        1 - dirichlet_cdf(np.append(values, worst), limit),
    )


def unseen_share(queries: int, confidence: float = CONFIDENCE) -> float:
    """The largest share of all queries that can break if none of these queries breaks; the rule of three."""
    return 1 - float((1 - confidence) ** (1 / queries))


def fewest_queries(limit: float, worst: float = 1.0, confidence: float = CONFIDENCE) -> int | None:
    """The number of unchanged queries that show a drop of at most ``limit``; None above a billion queries.

    A limit of 0.02 needs 149 queries. Fewer queries suffice only if scores rise.
    """
    if limit >= worst:
        return 1
    queries = log(1 - confidence) / min(log1p(-limit / worst), -_SMALLEST)
    return ceil(queries - TOLERANCE) if queries <= _BILLION else None


def queries_for_drop(
    drops: ArrayLike, limit: float, worst: float = 1.0, confidence: float = CONFIDENCE, power: float = 0.8
) -> QueriesNeeded | None:
    """The number of queries that show a drop of at most ``limit`` with ``power``, if the mean stays the same.

    It is the sum of :func:`fewest_queries` and of the queries that a t-test needs for drops that vary as
    these do. Returns None above a billion queries.
    """
    fewest = fewest_queries(limit, worst, confidence)
    values = np.asarray(drops, dtype=float)
    if fewest is None or np.ptp(values) <= TOLERANCE:
        return None if fewest is None else QueriesNeeded(fewest, fewest, fewest)
    needed = queries_to_detect_range(limit, values, tail=1 - confidence, power=power)
    if needed is None:
        return None
    high = None if needed.high is None else fewest + needed.high
    return QueriesNeeded(fewest + needed.queries, fewest + needed.low, high)
