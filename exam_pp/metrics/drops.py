"""Noninferiority: one-sided bounds and tests of the drop of a mean, paired over queries."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, isinf
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import t

from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.significance import all_signs, random_signs

DropTest = Literal["t", "randomisation"]
"""A paired test: Student's t test, or the randomisation test."""

TOLERANCE = 1e-12
"""Numbers that differ by less are equal, so that rounding errors do not decide."""


class DropBounds(NamedTuple):
    """One-sided bounds of a mean drop, and the tests that agree with them.

    An attribute is None if the number of queries is too small for it.

    Attributes:
        low: Lower bound of the drop.
        high: Upper bound of the drop.
        p_above: p-value of the hypothesis that the drop is at most the limit; small values show that it is
            larger.
        p_within: p-value of the hypothesis that the drop is larger than the limit; small values show that it
            is not.
    """

    low: float | None
    high: float | None
    p_above: float | None
    p_within: float | None


def drop_bounds(
    drops: Sequence[float],
    limit: float,
    *,
    test: DropTest = "t",
    confidence: float = 0.95,
    samples: int = 10_000,
    seed: int = 0,
) -> DropBounds:
    """Bounds of the mean drop, and one-sided tests of whether it is larger than a limit.

    * ``t``: bounds of Student's t distribution. A single query has no bounds. If all drops are equal, they
      are the bounds.
    * ``randomisation``: the signs of ``drops`` − ``limit`` are flipped. The mean with flipped signs is at
      least as large as the observed one if and only if the mean of the flipped drops is at most the limit,
      so the bounds are quantiles of the means of random subsets of the drops. If there are at most
      ``samples`` subsets, all are enumerated.

    Sources: Walker and Nowacki, "Understanding equivalence and noninferiority testing", Journal of General
    Internal Medicine 26 (2011); for the randomisation test, Hartigan, "Using subsample values as typical
    values", Journal of the American Statistical Association 64 (1969).

    Args:
        drops: Score before minus score after, for each query; at least one.
        limit: The largest drop that is accepted.
        test: The test.
        confidence: Level of each bound; the two together are an interval of level 2 × ``confidence`` − 1.
        samples: Number of random subsets.
        seed: Seed of the subsets.
    """
    values = np.array(drops, dtype=float)
    if test == "t":
        return _by_t(values, limit, confidence)
    return _by_randomisation(values, limit, 1 - confidence, samples, seed)


def spread_of(drops: Sequence[float]) -> float | None:
    """Standard deviation of the drops (ddof 1), 0 for equal drops; None for a single query."""
    if len(drops) < 2:
        return None
    spread = float(np.std(drops, ddof=1))
    return spread if spread > TOLERANCE else 0.0


def _by_t(drops: Floats, limit: float, confidence: float) -> DropBounds:
    spread = spread_of(drops.tolist())
    if spread is None:
        return DropBounds(None, None, None, None)
    mean = float(drops.mean())
    excess = mean - limit
    if not spread:
        above = 0.0 if excess > TOLERANCE else 1.0
        return DropBounds(mean, mean, above, 1 - above)
    error = spread / len(drops) ** 0.5
    freedom = len(drops) - 1
    width = float(t.ppf(confidence, freedom)) * error
    above, within = float(t.sf(excess / error, freedom)), float(t.cdf(excess / error, freedom))
    return DropBounds(mean - width, mean + width, above, within)


def _by_randomisation(drops: Floats, limit: float, alpha: float, samples: int, seed: int) -> DropBounds:
    means = _subset_means(drops, samples, seed)
    # The empty subset is the observation itself, which is as extreme as the observation in both directions.
    low = np.sort(np.nan_to_num(means, nan=-np.inf))
    high = -np.sort(-np.nan_to_num(means, nan=np.inf))
    place = floor(alpha * len(means) + TOLERANCE * len(means))
    return DropBounds(
        None if isinf(low[place]) else float(low[place]),
        None if isinf(high[place]) else float(high[place]),
        float((low <= limit + TOLERANCE).mean()),
        float((high >= limit - TOLERANCE).mean()),
    )


def _subset_means(drops: Floats, samples: int, seed: int) -> Floats:
    """The means of all subsets, or of random ones and the empty one; the mean of an empty subset is NaN."""
    queries = len(drops)
    is_exact = 2**queries <= samples
    rng = np.random.default_rng(seed)
    blocks = all_signs(queries) if is_exact else random_signs(queries, samples, rng)
    means = [] if is_exact else [np.array([np.nan])]
    for signs in blocks:
        chosen = signs < 0
        counts = chosen.sum(axis=1)
        means.append(np.where(counts, chosen @ drops / np.maximum(counts, 1), np.nan))
    return np.concatenate(means)
