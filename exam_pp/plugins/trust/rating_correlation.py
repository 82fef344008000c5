"""Ratings of the same items by two graders: rank correlation with p-values and intervals, and differences."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit
from scipy.stats import kendalltau

from exam_pp.defaults import SAMPLES
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.uncertainty import FEWEST_FOR_T, Interval, intervals, query_counts

_CELLS = 2_000_000
"""Number of cells of resampled tables in memory at a time."""


class RatedItem(NamedTuple):
    """The ratings of an item, such as an answer, by two graders."""

    query_id: str
    first: float
    second: float


class RankCorrelation(NamedTuple):
    """A correlation from -1 to 1, with its two-sided p-value under no association and its interval.

    ``value`` and ``p_value`` are None if all ratings of a grader are equal. ``interval`` is None for a single
    query, and if the correlation is undefined in all samples.
    """

    value: float | None
    p_value: float | None
    interval: Interval | None


class RatingCorrelation(NamedTuple):
    """Correlation of the ratings of two graders.

    ``first_ties``: Pairs of items that only the first grader rates equal, T of τ-b. ``second_ties``: Pairs of
    items that only the second grader rates equal, U of τ-b.
    """

    items: int
    queries: int
    first_ties: int
    second_ties: int
    kendall: RankCorrelation
    spearman: RankCorrelation


def rating_correlation(
    items: Sequence[RatedItem], *, samples: int = SAMPLES, seed: int = 0
) -> RatingCorrelation:
    """Correlate the ratings of two graders over items of all queries.

    With P concordant and Q discordant pairs, τ-b = (P − Q) / √((P + Q + T)(P + Q + U)). The p-values are
    those of :func:`scipy.stats.kendalltau` and :func:`scipy.stats.spearmanr`, which treat items as
    independent. The 95 % intervals resample queries with all their items, so they allow for dependent items
    of a query.

    Source: Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945); Rackauckas et al.,
    "Evaluating RAG-Fusion with RAGElo", 2024, equation 2.
    """
    tables = _tables(items)
    total = tables.sum(axis=0)
    tied = _pairs(total)
    rows, columns = total.sum(axis=1), total.sum(axis=0)
    if min(len(rows), len(columns)) < 2:
        taus = rhos = RankCorrelation(None, None, None)
    else:
        tau_interval, rho_interval = _intervals(tables.astype(float), samples, seed)
        # A square root adds rounding error, so equal orders would not be exactly 1.
        tau, rho = _coefficients(total[None].astype(float))[:, 0].round(12).tolist()
        taus = RankCorrelation(tau, _p_value_of_tau(items, rows, columns, tau), tau_interval)
        rhos = RankCorrelation(rho, _p_value_of_rho(len(items), rho), rho_interval)
    return RatingCorrelation(
        len(items),
        len(tables),
        _pairs(rows) - tied,
        _pairs(columns) - tied,
        taus,
        rhos,
    )


def _p_value_of_tau(
    items: Sequence[RatedItem], rows: NDArray[np.int64], columns: NDArray[np.int64], tau: float
) -> float:
    """Exact without ties; otherwise from the normal distribution, with the variance for ties.

    Source: Kendall, "Rank Correlation Methods", 4th edition (1970), section 4.
    """
    size = len(items)
    if max(*rows, *columns) == 1:
        return float(kendalltau([item.first for item in items], [item.second for item in items]).pvalue)
    first, second = (
        [float((counts * (counts - 1) * factor).sum()) for factor in (1, counts - 2, 2 * counts + 5)]
        for counts in (rows, columns)
    )
    ordered = size * (size - 1)
    variance = (ordered * (2 * size + 5) - first[2] - second[2]) / 18 + first[0] * second[0] / (2 * ordered)
    if size > 2:
        variance += first[1] * second[1] / (9 * ordered * (size - 2))
    excess = tau * sqrt((ordered - first[0]) * (ordered - second[0])) / 2
    return float(2 * ndtr(-abs(excess) / sqrt(variance)))


def _p_value_of_rho(size: int, rho: float) -> float | None:
    """From Student's t distribution with two degrees less than items; None for fewer than three items."""
    if size < 3:
        return None
    return 0.0 if abs(rho) == 1 else float(2 * stdtr(size - 2, -abs(rho) * sqrt((size - 2) / (1 - rho**2))))


def _tables(items: Sequence[RatedItem]) -> NDArray[np.int64]:
    """For each query, the number of items by first and second rating: queries × ratings × ratings."""
    queries = {query_id: row for row, query_id in enumerate(dict.fromkeys(item.query_id for item in items))}
    firsts = {rating: row for row, rating in enumerate(sorted({item.first for item in items}))}
    seconds = {rating: column for column, rating in enumerate(sorted({item.second for item in items}))}
    tables = np.zeros((len(queries), len(firsts), len(seconds)), dtype=np.int64)
    for query_id, first, second in items:
        tables[queries[query_id], firsts[first], seconds[second]] += 1
    return tables


def _pairs(counts: NDArray[np.int64]) -> int:
    """Number of pairs of items in the same cell."""
    return int((counts * (counts - 1) // 2).sum())


def _intervals(tables: Floats, samples: int, seed: int) -> tuple[Interval | None, Interval | None]:
    """Intervals of τ-b and ρ over resampled queries."""
    queries = len(tables)
    weights = query_counts(queries, samples, seed)
    block = max(1, _CELLS // tables[0].size)
    drawn = [
        _coefficients(np.tensordot(weights[start : start + block], tables, axes=1))
        for start in range(0, len(weights), block)
    ]
    of_tau, of_rho = intervals(np.hstack(drawn).T, queries, 0.95)
    return of_tau, of_rho


def _coefficients(tables: Floats) -> Floats:
    """τ-b and ρ of tables of counts, 2 × tables; NaN if all ratings of a grader are equal."""
    rows, columns = tables.sum(axis=2), tables.sum(axis=1)
    total = rows.sum(axis=1)
    # The items below and left of a cell, without its row and column, are concordant with those in the cell.
    before = np.zeros_like(tables)
    before[:, 1:, 1:] = tables.cumsum(axis=1).cumsum(axis=2)[:, :-1, :-1]
    above = np.zeros_like(tables)
    above[:, 1:, :-1] = tables[:, :, ::-1].cumsum(axis=1).cumsum(axis=2)[:, :-1, :-1][:, :, ::-1]
    difference = (tables * (before - above)).sum(axis=(1, 2))
    pairs = total * (total - 1) / 2
    untied = [pairs - (counts * (counts - 1) / 2).sum(axis=1) for counts in (rows, columns)]
    ranks = [
        counts.cumsum(axis=1) - counts / 2 - total[:, None] / 2 for counts in (rows, columns)
    ]  # centred average ranks
    covariance = np.einsum("sij,si,sj->s", tables, ranks[0], ranks[1])
    variances = [(counts * rank**2).sum(axis=1) for counts, rank in zip((rows, columns), ranks, strict=True)]
    result = np.full((2, len(tables)), np.nan)
    np.divide(difference, np.sqrt(untied[0] * untied[1]), out=result[0], where=untied[0] * untied[1] > 0)
    scale = np.sqrt(variances[0] * variances[1])
    np.divide(covariance, scale, out=result[1], where=untied[0] * untied[1] > 0)
    return result


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
