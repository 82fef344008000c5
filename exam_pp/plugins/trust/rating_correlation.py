"""Ratings of the same items by two graders: rank correlation with p-values and intervals, and differences."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit
from scipy.stats import kendalltau

from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.uncertainty import FEWEST_FOR_T, Interval
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.trust.resampling import Estimate, over_queries


class RatedItem(NamedTuple):
    """The ratings of an item, such as an answer, by two graders."""

    query_id: str
    first: float
    second: float
    passage_id: str = ""


class RatingCorrelation(NamedTuple):
    """Correlation of the ratings of two graders.

    ``first_ties``: Pairs of items that only the first grader rates equal, T of τ-b. ``second_ties``: Pairs of
    items that only the second grader rates equal, U of τ-b. ``kendall`` and ``spearman`` are from -1 to 1,
    and undefined if all ratings of a grader are equal. The p-values are two-sided, under no association.
    """

    queries: int
    first_ties: int
    second_ties: int
    kendall: Estimate
    p_of_kendall: float | None
    spearman: Estimate
    p_of_spearman: float | None


def rating_correlation(items: Sequence[RatedItem], statistics: Statistics) -> RatingCorrelation:
    """Correlate the ratings of two graders over items of all queries.

    With P concordant and Q discordant pairs, τ-b = (P − Q) / √((P + Q + T)(P + Q + U)). The p-values are
    those of :func:`scipy.stats.kendalltau` and :func:`scipy.stats.spearmanr`, which treat items as
    independent. The intervals resample queries with all their items, so they allow for dependent items of a
    query.

    Source: Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945); Rackauckas et al.,
    "Evaluating RAG-Fusion with RAGElo", 2024, equation 2.
    """
    tables = _tables(items)
    total = tables.sum(axis=0)
    tied, first_tied, second_tied = map(_pairs, (total, total.sum(axis=1), total.sum(axis=0)))
    tau = rho = Estimate(None, None)
    p_of_tau = p_of_rho = None
    if min(total.shape) > 1:
        # A square root adds rounding error, so equal orders would not be exactly 1.
        tau, rho = (over_queries(tables, each, statistics) for each in (_taus, _rhos))
        tau, rho = (Estimate(round(of.value or 0, 12), of.interval) for of in (tau, rho))
        p_of_tau = float(kendalltau([item.first for item in items], [item.second for item in items]).pvalue)
        p_of_rho = _p_value_of_rho(len(items), rho.value or 0)
    ties = int(first_tied - tied), int(second_tied - tied)
    return RatingCorrelation(len(tables), *ties, tau, p_of_tau, rho, p_of_rho)


def _p_value_of_rho(size: int, rho: float) -> float | None:
    """From Student's t distribution with two degrees less than items; None for fewer than three items."""
    if size < 3:
        return None
    return 0.0 if abs(rho) == 1 else float(2 * stdtr(size - 2, -abs(rho) * sqrt((size - 2) / (1 - rho**2))))


def _tables(items: Sequence[RatedItem]) -> Floats:
    """For each query, the number of items by first and second rating: queries × ratings × ratings."""
    # Queries are in their order, so that a seed draws the same ones.
    queries = {query_id: row for row, query_id in enumerate(dict.fromkeys(item.query_id for item in items))}
    numbers = [(queries[item.query_id], item.first, item.second) for item in items]
    places = [np.unique(column, return_inverse=True) for column in np.reshape(numbers, (-1, 3)).T]
    tables = np.zeros([len(values) for values, _ in places])
    np.add.at(tables, tuple(positions for _, positions in places), 1)
    return tables


def _pairs(counts: Floats) -> float:
    """Number of pairs of items in the same cell."""
    return float((counts * (counts - 1) / 2).sum())


def _taus(tables: Floats) -> Floats:
    """τ-b of each table of counts; NaN if all ratings of a grader are equal."""
    # The items below and left of a cell, without its row and column, are concordant with those in the cell.
    before, above = np.zeros_like(tables), np.zeros_like(tables)
    before[:, 1:, 1:] = tables.cumsum(axis=1).cumsum(axis=2)[:, :-1, :-1]
    above[:, 1:, :-1] = tables[:, :, ::-1].cumsum(axis=1).cumsum(axis=2)[:, :-1, :-1][:, :, ::-1]
    difference = (tables * (before - above)).sum(axis=(1, 2))
    total = tables.sum(axis=(1, 2))
    pairs = total * (total - 1) / 2
    return _ratio(
        difference,
        *(
            pairs - (counts * (counts - 1) / 2).sum(axis=1)
            for counts in (tables.sum(axis=2), tables.sum(axis=1))
        ),
    )


def _rhos(tables: Floats) -> Floats:
    """Spearman's ρ of each table of counts; NaN if all ratings of a grader are equal."""
    half = tables.sum(axis=(1, 2))[:, None] / 2
    sides = tables.sum(axis=2), tables.sum(axis=1)
    ranks = [counts.cumsum(axis=1) - counts / 2 - half for counts in sides]  # centred average ranks
    covariance = np.einsum("sij,si,sj->s", tables, *ranks)
    return _ratio(
        covariance, *((counts * rank**2).sum(axis=1) for counts, rank in zip(sides, ranks, strict=True))
    )


def _ratio(numerator: Floats, first: Floats, second: Floats) -> Floats:
    """The numerator by the geometric mean of two numbers; NaN if that is 0."""
    found = np.full(len(numerator), np.nan)
    np.divide(numerator, np.sqrt(first * second), out=found, where=first * second > 0)
    return found


WITHIN_LIMITS = 1.96
"""Number of standard deviations from the mean within which 95 % of normally distributed values are."""
_JITTER = 0.25
"""Largest shift of a point, as a share of the distance of neighbouring values."""


class BlandAltman(NamedTuple):
    """Differences of two graders, first − second, on the same items; values are None without items.

    ``sd``: Standard deviation of the differences, with n − 1. ``lower`` and ``upper`` are the limits of
    agreement. All three need two items.
    """

    bias: Estimate
    sd: float | None = None
    lower: Estimate = Estimate(None, None)
    upper: Estimate = Estimate(None, None)


def bland_altman(differences: Sequence[float], *, deviations: float = WITHIN_LIMITS) -> BlandAltman:
    """Bias and limits of agreement: mean ± 1.96 standard deviations of the differences.

    With n differences of standard deviation s, the standard error of the bias is √(s²/n), that of a limit
    √(3 s²/n). The 95 % intervals use the t distribution with n − 1 degrees of freedom; they treat items as
    independent and the differences as normally distributed.

    Source: Bland and Altman, "Statistical methods for assessing agreement between two methods of clinical
    measurement", The Lancet 327 (1986).

    ``differences``: The first rating minus the second, of each item.
    """
    count, values = len(differences), np.asarray(differences, dtype=float)
    if count < 2:
        return BlandAltman(Estimate(float(values.mean()) if count else None, None))
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    quantile = float(stdtrit(count - 1, 0.975))

    def estimate(value: float, error: float) -> Estimate:
        if count < FEWEST_FOR_T or not error:
            return Estimate(value, None)
        return Estimate(value, Interval(value - quantile * error, value + quantile * error))

    of_limit = sqrt(3 * sd**2 / count)
    return BlandAltman(
        estimate(mean, sd / sqrt(count)),
        sd,
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
