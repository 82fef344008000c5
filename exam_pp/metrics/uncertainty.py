"""Intervals of means, and of statistics by resampled queries or systems.

The limits of the mean of scores with a known range are Gaffke's bound. It adds one unseen score at the far
end of the range to the Bayesian bootstrap (Rubin 1981), so that equal scores are not certain ones. For binary
scores it is the interval of Clopper and Pearson.

Sources: Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable", Mathematical Methods of Statistics 14 (2005); Learned-Miller and Thomas, "A new confidence interval
for the mean of a bounded random variable", arXiv:1905.06208 (2019). That the limits hold is proved for
special cases; for others no counterexample is known (docs/concepts/uncertainty.md names the tried laws).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, stdtrit

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import DataError
from exam_pp.metrics.entry_values import Floats, Ints
from exam_pp.metrics.measures import Range
from exam_pp.results import ALL_QUERIES, Score

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

FEWEST_UNITS = 5
"""With fewer resampled queries, intervals of resampled statistics are not made."""
FEW_UNITS = 12
"""With fewer resampled queries, such intervals are approximate: they cover less often than they say."""
_SAMPLES_OF_FEW = 10_000
FEWEST_FOR_T = 6
"""With fewer values, no interval of their mean is made that assumes normal ones."""
NO_SPREAD = 1e-12
"""Numbers that differ by less are equal but for rounding errors."""
ROUNDING = 1e-9
"""Scores outside of their range by at most this are rounding errors, or by this share of an end above 1."""
_NODES = 400
"""Enough for 5,000 different scores: limits of binary ones agree with Clopper and Pearson to 1e-7."""
_TINY = 1e-16


class Interval(NamedTuple):
    """An interval, both ends included."""

    low: float
    high: float


@dataclass(frozen=True)
class ScoreMatrix:
    """The scores of a metric, systems × queries; NaN if a system has no score for a query."""

    metric: str
    systems: list[str]
    query_ids: list[str]
    values: Floats

    @property
    def everywhere(self) -> NDArray[np.bool_]:
        """Whether every system has a score for the query, by query."""
        return np.asarray(~np.isnan(self.values).any(axis=0))

    def by_system(self) -> dict[str, dict[str, float]]:
        """System to query to score; NaN cells have no key."""
        return {
            system: {q: v for q, v in zip(self.query_ids, row, strict=True) if not np.isnan(v)}
            for system, row in zip(self.systems, self.values.tolist(), strict=True)
        }


def score_matrices(scores: Iterable[Score]) -> dict[str, ScoreMatrix]:
    """Metric to matrix, systems and queries in order of appearance; totals over queries are skipped."""
    cells: dict[str, dict[tuple[str, str], float]] = {}
    for score in scores:
        if score.query_id != ALL_QUERIES:
            cells.setdefault(score.metric, {})[score.system, score.query_id] = score.value
    return {metric: _matrix(metric, values) for metric, values in cells.items()}


def _matrix(metric: str, cells: dict[tuple[str, str], float]) -> ScoreMatrix:
    systems = list(dict.fromkeys(system for system, _ in cells))
    query_ids = list(dict.fromkeys(query_id for _, query_id in cells))
    rows = {system: row for row, system in enumerate(systems)}
    columns = {query_id: column for column, query_id in enumerate(query_ids)}
    values = np.full((len(systems), len(query_ids)), np.nan)
    for (system, query_id), value in cells.items():
        values[rows[system], columns[query_id]] = value
    return ScoreMatrix(metric, systems, query_ids, values)


GAFFKE = "Gaffke's bound"
"""The name of the method for readers of its intervals."""


def interval_method(bounds: Range | None) -> str:
    """How :func:`mean_interval` makes intervals for this range, and what they rest on."""
    if bounds is not None:
        return GAFFKE
    return (
        "Student's t, which assumes normal scores, because the range of the measure is unknown; none for "
        f"fewer than {FEWEST_FOR_T} queries or equal scores"
    )


def few_units_note(units: str = "queries") -> str:
    """The note that readers of intervals by resampling need."""
    return (
        f"They say nothing about {units} of another kind. With fewer than {FEW_UNITS} {units} they are "
        f"approximate, from at least {_SAMPLES_OF_FEW:,} samples, and with fewer than {FEWEST_UNITS} or "
        "without any spread they are missing."
    )


def enough_samples(units: int, samples: int) -> int:
    """The number of samples of so few units; tails of intervals are far out if there are few."""
    return max(samples, _SAMPLES_OF_FEW) if units < FEW_UNITS else samples


@lru_cache(maxsize=2)
def query_counts(queries: int, samples: int, seed: int) -> Ints:
    """How often each query is in each bootstrap sample of the queries, samples × queries.

    Few queries have more than ``samples``, see :func:`enough_samples`.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993).
    """
    size = enough_samples(queries, samples)
    drawn = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=size)
    drawn.flags.writeable = False  # the next caller gets the same array
    return drawn


def expanded_tail(units: int, confidence: float = CONFIDENCE) -> float:
    """The share of samples beyond each end of an interval from ``units`` (at least two) resampled units.

    Samples of n units spread by √((n − 1) / n) too little, and have normal tails instead of those of t:
    Φ(√(n / (n − 1)) t) in place of (1 − ``confidence``) / 2. For 8 units and 95 %, it is 0.57 %.

    Source: Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69 (2015).
    """
    quantile = stdtrit(units - 1, (1 - confidence) / 2)
    return float(ndtr(np.sqrt(units / (units - 1)) * quantile))


def intervals(values: Floats, units: int, confidence: float = CONFIDENCE) -> list[Interval | None]:
    """The expanded percentile interval of each column of resampled statistics (samples × statistics).

    NaN is an undefined statistic, and left out.

    Returns the intervals; see :func:`expanded_tail`. None for fewer than :data:`FEWEST_UNITS` units, without
    any spread, and for fewer samples than reach the tails.
    """
    if units < FEWEST_UNITS:
        return [None] * values.shape[1]
    tail = 100 * expanded_tail(units, confidence)
    found: list[Interval | None] = []
    for column in values.T:
        known = column[~np.isnan(column)]
        if len(known) * tail < 100 or np.ptp(known) < NO_SPREAD:
            found.append(None)
        else:
            low, high = np.percentile(known, [tail, 100 - tail]).tolist()
            found.append(Interval(low, high))
    return found


def dirichlet_cdf(values: ArrayLike, point: float) -> float:
    """P(D₁z₁ + … + Dₙzₙ ≤ ``point``) for weights D with the Dirichlet distribution of parameters 1.

    Weights are shares of exponential numbers Eᵢ, so this is P(ΣEᵢ(zᵢ − point) ≤ 0). The formula of Gil-Pelaez
    (Biometrika 38, 1951; Imhof, Biometrika 48, 1961) turns it into an integral over u from 0 to ∞. With
    u = tan θ it is over θ from 0 to π/2, and du/u = dθ/(sin θ cos θ).
    """
    return _cdf(*np.unique(np.asarray(values, dtype=float), return_counts=True), point)


def _cdf(numbers: Floats, counts: NDArray[np.int64], point: float) -> float:
    """:func:`dirichlet_cdf` of different numbers, in order, and how often each occurs."""
    if numbers[-1] <= point:
        return 1.0
    if numbers[0] >= point:
        return 0.0
    distances = numbers - point
    # The formula does not depend on the scale; unit length keeps the integrand within the range of the nodes.
    factors = np.ones((len(numbers), _NODES), dtype=complex)
    np.multiply.outer(distances / np.sqrt(counts @ distances**2), _nodes()[0], out=factors.imag)
    tied = counts > 1
    # The sizes of many factors overflow where the integrand is 0.
    with np.errstate(over="ignore", invalid="ignore"):
        factors[tied] **= counts[tied, None]
        # The sine of the sum of the angles of 1 + ciu, divided by the product of their sizes.
        integrand = (1 / factors.prod(axis=0)).imag
    integrand[np.isnan(integrand)] = 0.0
    return min(max(0.5 + float(_nodes()[1] @ integrand) / np.pi, 0.0), 1.0)


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Values of u and weights of du/u."""
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    theta = (points + 1) * np.pi / 4
    return np.tan(theta), weights * np.pi / 4 / (np.sin(theta) * np.cos(theta))


def _quantile(probability: float) -> float:
    """Of the normal distribution, so that roots are found on almost a line; finite for 0 and 1."""
    return float(ndtri(min(max(probability, _TINY), 1 - _TINY)))


def upper_limit(values: ArrayLike, top: float, tail: float) -> float:
    """Upper confidence limit of the mean of scores that are at most ``top``.

    ``tail``: The error probability, such as 0.025 for one end of a 95 % interval.
    """
    scores = np.asarray(values, dtype=float)
    if scores.max() > top + ROUNDING * max(1.0, abs(top)):
        raise ValueError(f"the score {scores.max()} is above {top}, the highest possible one")
    lowest = float(scores.min())
    # brentq needs ends with different signs.
    if lowest >= top:
        return top
    bounded = np.unique(np.append(np.minimum(scores, top), top), return_counts=True)
    limit = _quantile(1 - tail)
    return float(brentq(lambda point: _quantile(_cdf(*bounded, point)) - limit, lowest, top, xtol=1e-12))


def lower_limit(values: ArrayLike, bottom: float, tail: float) -> float:
    """Lower confidence limit of the mean of scores of at least ``bottom``, the mirror of the upper one."""
    # -upper_limit(...) could be -0.0.
    return 0.0 - upper_limit(np.negative(values), -bottom, tail)


def mean_interval(values: ArrayLike, bounds: Range | None, confidence: float = CONFIDENCE) -> Interval | None:
    """The confidence interval of the mean of independent scores; it always has a width.

    With a range it is Gaffke's bound, and both ends have the same tail: scores .2, .5 and .9 in [0, 1] give
    [.131037, .9]. Without a range, it is Student's interval, which assumes normal scores.

    ``values``: The scores; NaN is no score. ``bounds``: The range of the measure; None if it is unknown.
    Returns the interval; None without scores. Without a range, also None for fewer than :data:`FEWEST_FOR_T`
    scores and for equal scores.
    """
    scores = np.asarray(values, dtype=float)
    scores = scores[~np.isnan(scores)]
    if not scores.size:
        return None
    if bounds is not None:
        (low, high), tail = bounds, (1 - confidence) / 2
        return Interval(lower_limit(scores, low, tail), upper_limit(scores, high, tail))
    scale = float(np.abs(scores).max())  # sums and squares of scaled scores do not overflow
    scores = scores / (scale or 1.0)
    if scores.size < FEWEST_FOR_T or np.ptp(scores) <= NO_SPREAD:
        return None
    error = float(scores.std(ddof=1)) / scores.size**0.5
    half = float(stdtrit(scores.size - 1, (1 + confidence) / 2)) * error
    return Interval((float(scores.mean()) - half) * scale, (float(scores.mean()) + half) * scale)


def is_outside(value: float, bounds: Range) -> bool:
    """Whether a score is outside of the range of its measure by more than a rounding error."""
    low, high = bounds
    return not low - ROUNDING * max(1.0, abs(low)) <= value <= high + ROUNDING * max(1.0, abs(high))


def check_range(score: Score, bounds: Range | None, file: str | None = None) -> None:
    """Raise :class:`~exam_pp.errors.DataError` for a score outside of the range of its measure."""
    if bounds is not None and is_outside(score.value, bounds):
        raise DataError(
            f"{score.metric} is from {bounds[0]:g} to {bounds[1]:g}, but the score of {score.system} for the "
            f"query {score.query_id!r} is {score.value:g}; divide the scores, or rename the measure.",
            file=file,
        )


def mean_intervals(matrix: ScoreMatrix, bounds: Range | None, confidence: float) -> dict[str, Interval]:
    """System to the interval of its mean, if it has one.

    Raises :class:`~exam_pp.errors.DataError` for a score outside of ``bounds``, the range of the measure.
    """
    intervals = {}
    for system, by_query in matrix.by_system().items():
        for query_id, value in by_query.items():
            check_range(Score(system, query_id, matrix.metric, value), bounds)
        if (interval := mean_interval(list(by_query.values()), bounds, confidence)) is not None:
            intervals[system] = interval
    return intervals


def share_interval(
    parts: ArrayLike, wholes: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Confidence interval of a share whose parts come in independent groups, such as games by query.

    If all groups are equally large, it is :func:`mean_interval` of their shares from 0 to 1. Otherwise it
    contains the shares θ that the groups do not refute: the means of part − θ × whole are 0, and one more
    group, as large as the largest, has the share 1 for the upper limit and 0 for the lower one.
    """
    part, whole = np.asarray(parts, dtype=float), np.asarray(wholes, dtype=float)
    tail = (1 - confidence) / 2
    return 1 - _highest_share(whole - part, whole, tail), _highest_share(part, whole, tail)


def _highest_share(part: Floats, whole: Floats, tail: float) -> float:
    observed = float(part.sum() / whole.sum())
    if observed >= 1:
        return 1.0

    def excess(share: float) -> float:
        probability = dirichlet_cdf(np.append(part - share * whole, (1 - share) * whole.max()), 0.0)
        return _quantile(probability) - _quantile(1 - tail)

    return float(brentq(excess, observed, 1.0, xtol=1e-12))
