"""Intervals of means, and of statistics by resampled queries or systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics import bounded_mean
from exam_pp.metrics.entry_values import Floats, Ints
from exam_pp.metrics.score_ranges import Range, check_range
from exam_pp.results import ALL_QUERIES, Score

FEWEST_UNITS = 5
"""With fewer resampled queries, intervals of resampled statistics are not made."""
FEW_UNITS = 12
"""With fewer resampled queries, such intervals are approximate: they cover less often than they say."""
_SAMPLES_OF_FEW = 10_000
FEWEST_FOR_T = 6
"""With fewer values, no interval of their mean is made that assumes normal ones."""
NO_SPREAD = 1e-12
"""Numbers that differ by less are equal but for rounding errors."""


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


def mean_interval(
    values: Sequence[float], bounds: Range | None, confidence: float = CONFIDENCE
) -> Interval | None:
    """The confidence interval of the mean of independent scores; it always has a width.

    With a range it is Gaffke's bound (:mod:`exam_pp.metrics.bounded_mean`). Without a range, it is Student's
    interval, which assumes normal scores.

    ``values``: The scores; NaN is no score. ``bounds``: The range of the measure; None if it is unknown.
    Returns the interval; None without scores. Without a range, also None for fewer than :data:`FEWEST_FOR_T`
    scores and for equal scores.
    """
    scores = np.asarray(values, dtype=float)
    scores = scores[~np.isnan(scores)]
    if not scores.size:
        return None
    if bounds is not None:
        return Interval(*bounded_mean.interval(scores, *bounds, confidence))
    scale = float(np.abs(scores).max())  # sums and squares of scaled scores do not overflow
    scores = scores / (scale or 1.0)
    if scores.size < FEWEST_FOR_T or np.ptp(scores) <= NO_SPREAD:
        return None
    error = float(scores.std(ddof=1)) / scores.size**0.5
    half = float(stdtrit(scores.size - 1, (1 + confidence) / 2)) * error
    return Interval((float(scores.mean()) - half) * scale, (float(scores.mean()) + half) * scale)


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
