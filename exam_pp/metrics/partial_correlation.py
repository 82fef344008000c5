"""Correlations within queries and partial correlations, with intervals over queries.

A unit is a row of two or three numbers: x and y, whose correlation is computed, and z, which is held
constant. The partial correlation is r_xy.z = (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)(1 - r_yz^2)).

Sources: Fisher, "The distribution of the partial correlation coefficient", Metron 3 (1924). Correlations of
deviations from the query's means are those that hold the query constant (Frisch and Waugh, "Partial time
regressions as compared with individual trends", Econometrica 1, 1933).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from exam_pp.defaults import CONFIDENCE, SAMPLES
from exam_pp.metrics.correlation import central_intervals, true_means
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.uncertainty import Interval, intervals, query_counts

Group = Sequence[Sequence[float]]
"""Units that are compared with each other only: rows (x, y) or (x, y, z)."""
_LEAST_REST = 1e-12
"""Share of the variance that z must leave to x and y; below it, the partial correlation is undefined."""


class Estimate(NamedTuple):
    """A correlation; None is undefined.

    ``value``: The correlation, -1 to 1; None if x or y has only one value in every group. ``interval``:
    Interval over queries; None for too few queries or systems.
    """

    value: float | None
    interval: Interval | None
    units: int
    queries: int


def correlation_within(
    queries: Sequence[Sequence[Group]],
    *,
    ranks: bool = True,
    confidence: float = CONFIDENCE,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Estimate:
    """Correlation of x and y within groups; of rows with z, the partial correlation.

    Numbers are replaced by their deviations from the means of their group. With ``ranks``, they are first
    replaced by their ranks in the group (ties: average rank), divided by the number of its units, so that a
    large group has no larger ranks. For a single group this is Spearman's ρ; without ``ranks`` it is
    Pearson's r.
    """
    kept = [[group for group in groups if len(group) > 1] for groups in queries]
    kept = [groups for groups in kept if groups]
    units = sum(len(group) for groups in kept for group in groups)
    if not kept:
        return Estimate(None, None, 0, 0)
    products = np.array([sum(_products(group, ranks) for group in groups) for groups in kept])
    value = known(_correlations(products.sum(axis=0)))
    drawn = np.tensordot(query_counts(len(kept), samples, seed), products, axes=1)
    (interval,) = intervals(_correlations(drawn)[:, None], len(kept), confidence)
    return Estimate(value, interval, units, len(kept))


def correlation_of_means(
    columns: Sequence[Sequence[Sequence[float]]],
    *,
    confidence: float = CONFIDENCE,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Estimate:
    """Spearman's ρ of the systems' means over queries; of three columns, the partial ρ.

    The interval is from draws of the true means of each column, given the means of the others
    (:func:`~exam_pp.metrics.correlation.true_means`).

    ``columns``: x and y, or x, y and z; each a matrix of systems × queries.
    """
    values = np.asarray(columns, dtype=float)
    _, systems, queries = values.shape
    value = known(_correlations_of_means(values.mean(axis=2)[None]))
    means = values.mean(axis=2)
    drawn = [
        true_means(column, np.delete(means, number, axis=0).T, samples=samples, seed=seed + number)
        for number, column in enumerate(values)
    ]
    fewest = min(map(len, drawn))  # 0 if a column has no draws
    drawn_means = np.stack([of_column[:fewest] for of_column in drawn], axis=1)
    (interval,) = central_intervals(_correlations_of_means(drawn_means)[:, None], confidence)
    return Estimate(value, interval, systems, queries)


def _correlations_of_means(means: Floats) -> Floats:
    """Correlations of the rows of samples × columns × systems, by ranks."""
    # Rounding errors of means would break ties.
    ranks = rankdata(means.round(12), axis=2)
    deviations = ranks - ranks.mean(axis=2, keepdims=True)
    return _correlations(np.einsum("scn,sdn->scd", deviations, deviations))


def _products(group: Group, ranks: bool) -> Floats:
    """Sums of squares and products of the deviations from the means, columns × columns."""
    values = np.asarray(group, dtype=float)
    if ranks:
        values = rankdata(values, axis=0) / len(values)
    # Without the first row, deviations of equal numbers are exactly 0.
    values = values - values[0]
    deviations = values - values.mean(axis=0)
    return np.asarray(deviations.T @ deviations)


def _correlations(products: Floats) -> Floats:
    """Correlations of the first two columns, given the third if there is one; NaN if undefined."""
    x_y = _ratio(products, 0, 1)
    if products.shape[-1] == 2:
        return x_y
    # A constant z explains nothing.
    x_z, y_z = (np.nan_to_num(_ratio(products, column, 2)) for column in (0, 1))
    rest_x, rest_y = 1 - x_z**2, 1 - y_z**2
    defined = (rest_x > _LEAST_REST) & (rest_y > _LEAST_REST)
    below = np.sqrt(np.where(defined, rest_x * rest_y, 1.0))
    return np.where(defined, np.clip((x_y - x_z * y_z) / below, -1, 1), np.nan)


def _ratio(products: Floats, first: int, second: int) -> Floats:
    squares = products[..., first, first] * products[..., second, second]
    below = np.sqrt(np.where(squares > 0, squares, 1.0))
    return np.where(squares > 0, np.clip(products[..., first, second] / below, -1, 1), np.nan)


def known(value: Floats) -> float | None:
    """The only number of an array; None if it is NaN."""
    number = float(np.asarray(value).reshape(-1)[0])
    return None if np.isnan(number) else number
