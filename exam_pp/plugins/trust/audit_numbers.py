"""Numbers of audits, with intervals over queries: correlations, and the advantage of a family.

The advantage of a family is the mean score of its systems minus that of the others, in standard deviations of
the systems' means, because scores have different scales.

Sources: Correlations of deviations from the group's means are those that hold the group constant (Frisch and
Waugh, "Partial time regressions as compared with individual trends", Econometrica 1, 1933). Angrist and
Pischke, "Mostly Harmless Econometrics" (2009), section 5.2 (differences in differences).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from exam_pp.metrics.entry_values import Bools, Floats
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.trust.resampling import Estimate, over_queries

Group = Sequence[Sequence[float]]
"""Units that are compared with each other only: rows (x, y)."""


class Correlation(NamedTuple):
    """A correlation of so many units; None if x or y has only one value in every group."""

    estimate: Estimate
    units: int
    queries: int


def correlation_within(queries: Sequence[Sequence[Group]], statistics: Statistics) -> Correlation:
    """Rank correlation of x and y within groups.

    Numbers are replaced by their ranks in the group (ties: average rank), divided by the number of its units,
    so that a large group has no larger ranks, and then by their deviations from the mean. For a single group
    this is Spearman's ρ.
    """
    kept = [[group for group in groups if len(group) > 1] for groups in queries]
    kept = [groups for groups in kept if groups]
    if not kept:
        return Correlation(Estimate(None, None), 0, 0)
    products = np.array([sum(map(_products, groups)) for groups in kept])
    units = sum(len(group) for groups in kept for group in groups)
    return Correlation(over_queries(products, _correlations, statistics), units, len(kept))


def _products(group: Group) -> Floats:
    """Sums of squares and products of the deviations of the ranks from their means, columns × columns."""
    ranks = rankdata(np.asarray(group, dtype=float), axis=0) / len(group)
    # Without the first row, deviations of equal numbers are exactly 0.
    ranks = ranks - ranks[0]
    deviations = ranks - ranks.mean(axis=0)
    return np.asarray(deviations.T @ deviations)


def _correlations(products: Floats) -> Floats:
    """The correlation of each table of products; NaN if undefined."""
    squares = products[:, 0, 0] * products[:, 1, 1]
    below = np.sqrt(np.where(squares > 0, squares, 1.0))
    return np.where(squares > 0, np.clip(products[:, 0, 1] / below, -1, 1), np.nan)


Matrix = Sequence[Sequence[float]]
"""Scores, systems × queries."""


def advantage(
    scores: Matrix, own: Sequence[bool], statistics: Statistics
) -> tuple[float, float, float, Estimate]:
    """The mean scores of the systems in ``own`` and of the others, the mean rank of ``own``, the advantage.

    Rank 1 is best, and ties have their average rank. The advantage is undefined if all systems have the same
    mean; both kinds must exist.
    """
    values, among = np.asarray(scores, dtype=float), np.asarray(own, dtype=bool)
    means = values.mean(axis=1)
    found = over_queries(values.T / values.shape[1], lambda of: _standardised(of, among), statistics)
    rank = rankdata(-means.round(12))[among].mean()
    return float(means[among].mean()), float(means[~among].mean()), float(rank), found


def difference_in_differences(
    first: Matrix, second: Matrix, own: Sequence[bool], statistics: Statistics
) -> Estimate:
    """The advantage by the first scores minus that by the second; rows and columns are the same.

    It is 0 if one matrix is a positive multiple of the other plus a constant.
    """
    among = np.asarray(own, dtype=bool)
    both = np.array([first, second], dtype=float)
    return over_queries(
        both.T.swapaxes(1, 2) / both.shape[2],
        lambda of: _standardised(of[:, 0], among) - _standardised(of[:, 1], among),
        statistics,
    )


def _standardised(means: Floats, own: Bools) -> Floats:
    """Advantage of each row of means, samples × systems; NaN if all means are equal."""
    deviation = means.std(axis=1)
    gap = means[:, own].mean(axis=1) - means[:, ~own].mean(axis=1)
    return np.where(deviation > 1e-12, gap / np.where(deviation > 1e-12, deviation, 1.0), np.nan)
