"""Advantage of a family of systems by one source of scores against another: difference in differences.

The advantage is the mean score of the family's systems minus that of the other systems. Sources of scores
have different scales, so advantages are compared in standard deviations of the systems' means.

Source: Angrist and Pischke, "Mostly Harmless Econometrics" (2009), section 5.2 (differences in differences).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from exam_pp.defaults import CONFIDENCE, SAMPLES
from exam_pp.metrics.entry_values import Bools, Floats
from exam_pp.metrics.partial_correlation import known
from exam_pp.metrics.uncertainty import Interval, intervals, query_counts

Matrix = Sequence[Sequence[float]]
"""Scores, systems × queries."""


class Advantage(NamedTuple):
    """The advantage of the family's systems by one source of scores.

    ``own_rank``: Mean rank of the family's systems; 1 is best, ties have their average rank.
    ``standardised``: Difference of the means, in standard deviations of the systems' means; None if all
    systems have the same mean.
    """

    own: float
    others: float
    own_rank: float
    standardised: float | None
    interval: Interval | None


class Comparison(NamedTuple):
    """The advantage by one source minus that by another, in standard deviations, with its interval."""

    difference: float | None
    interval: Interval | None


def advantage(
    scores: Matrix,
    own: Sequence[bool],
    *,
    confidence: float = CONFIDENCE,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Advantage:
    """The advantage of the systems in ``own`` over the others; both kinds must exist."""
    values, among = np.asarray(scores, dtype=float), np.asarray(own, dtype=bool)
    means = values.mean(axis=1)
    ranks = rankdata(-means.round(12))
    drawn = _drawn(values, among, samples, seed)
    return Advantage(
        float(means[among].mean()),
        float(means[~among].mean()),
        float(ranks[among].mean()),
        known(_standardised(means[None], among)),
        intervals(drawn[:, None], values.shape[1], confidence)[0],
    )


def difference_in_differences(
    first: Matrix,
    second: Matrix,
    own: Sequence[bool],
    *,
    confidence: float = CONFIDENCE,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Comparison:
    """The advantage by the first scores minus that by the second; rows and columns are the same.

    It is 0 if one matrix is a positive multiple of the other plus a constant.
    """
    among = np.asarray(own, dtype=bool)
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    value = known(_standardised(a.mean(axis=1)[None], among) - _standardised(b.mean(axis=1)[None], among))
    drawn = _drawn(a, among, samples, seed) - _drawn(b, among, samples, seed)
    return Comparison(value, intervals(drawn[:, None], a.shape[1], confidence)[0])


def _drawn(values: Floats, own: Bools, samples: int, seed: int) -> Floats:
    """Standardised advantages of resampled queries."""
    queries = values.shape[1]
    return _standardised(query_counts(queries, samples, seed) @ values.T / queries, own)


def _standardised(means: Floats, own: Bools) -> Floats:
    """Advantage of each row of means, samples × systems; NaN if all means are equal."""
    deviation = means.std(axis=1)
    gap = means[:, own].mean(axis=1) - means[:, ~own].mean(axis=1)
    return np.where(deviation > 1e-12, gap / np.where(deviation > 1e-12, deviation, 1.0), np.nan)
