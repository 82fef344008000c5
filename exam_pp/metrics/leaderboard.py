"""Mean, standard error and distribution of the scores of every system over queries.

Distribution of the scores of a system over queries: mean, median, quartiles and box-plot whiskers.

Source: Tukey, "Exploratory Data Analysis" (1977), chapter 2, with linear interpolation of the quartiles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import fsum, hypot, sqrt
from statistics import median
from typing import NamedTuple

import numpy as np

from exam_pp.metrics.measures import measure_named
from exam_pp.results import ALL_QUERIES, OVERALL_SYSTEM, Score


class Standing(NamedTuple):
    """Mean of a metric for a system, with its standard error (None for a single query)."""

    system: str
    metric: str
    mean: float
    stderr: float | None
    queries: int


def standings(scores: Iterable[Score]) -> list[Standing]:
    """A row for each system and metric, in order of appearance.

    The mean is over the system's scores; all queries have the same weight. If a metric yields its own
    value for :data:`~exam_pp.results.ALL_QUERIES`, such as a total, that value is used, with ``stderr`` None.
    Measures whose rule is so have a mean from 0 to 1, whatever the scores are (``clip_mean``).
    """
    values: dict[tuple[str, str], list[float]] = {}
    totals: dict[tuple[str, str], float] = {}
    for score in scores:
        key = (score.system, score.metric)
        if score.query_id == ALL_QUERIES:
            values.setdefault(key, [])
            totals[key] = score.value
        else:
            values.setdefault(key, []).append(score.value)
    rows = []
    for key, column in values.items():
        if key in totals:
            rows.append(Standing(*key, totals[key], None, len(column)))
        else:
            mean = exact_mean(column)
            stderr = _standard_error(column, mean)
            measure = measure_named(key[1])
            shown = min(1.0, max(0.0, mean)) if measure is not None and measure.clip_mean else mean
            rows.append(Standing(*key, shown, stderr, len(column)))
    return rows


def by_means(systems: Iterable[str], *means: Mapping[str, float]) -> list[str]:
    """The systems by their means, and those with equal means by the next ones.

    Systems without a mean are behind all others, and the overall system comes last.
    """
    return sorted(
        systems,
        key=lambda s: (s == OVERALL_SYSTEM, *((s not in of, -of.get(s, 0.0)) for of in means), s),
    )


def with_means(scores: Iterable[Score]) -> list[Score]:
    """The scores of every system and metric for each query, followed by the mean as query ``all``."""
    known = list(scores)
    means = standings(known)
    groups: dict[tuple[str, str], list[Score]] = {(row.system, row.metric): [] for row in means}
    for score in known:
        if score.query_id != ALL_QUERIES:
            groups[score.system, score.metric].append(score)
    for row in means:
        groups[row.system, row.metric].append(Score(row.system, ALL_QUERIES, row.metric, row.mean))
    return [score for group in groups.values() for score in group]


class Extremes(NamedTuple):
    """The lowest, median and highest score of the systems on a query, each averaged over the queries."""

    low: float
    median: float
    high: float


def extremes(scores: Iterable[Score]) -> dict[str, Extremes]:
    """Metric to its :class:`Extremes`, in order of appearance; metrics with only means are left out.

    Source: rows Min, Median and Max in Tables 6 to 8 of Pradeep et al., "Initial Nugget Evaluation Results
    for the TREC 2024 RAG Track" (2024). Max is above the mean of the best run there, so that the rows are
    averages over queries.
    """
    columns: dict[str, dict[str, list[float]]] = {}
    for score in scores:
        if score.query_id != ALL_QUERIES:
            columns.setdefault(score.metric, {}).setdefault(score.query_id, []).append(score.value)
    return {
        metric: Extremes(
            *(exact_mean([of(column) for column in queries.values()]) for of in (min, median, max))
        )
        for metric, queries in columns.items()
    }


def exact_mean(values: list[float]) -> float:
    """The mean, free of rounding errors: lists with equal exact means give equal floats.

    Shares such as 3/10 are inexact as floats, so means of tied systems could differ by 1e-17 and break the
    tie. If all values are shares with denominators up to 1000, they are therefore added as exact fractions;
    otherwise they are added with ``math.fsum``.
    """
    numerators: dict[int, int] = {}
    for value in values:
        share = _share(value)
        if share is None:
            return _plain_mean(values)
        numerator, denominator = share
        numerators[denominator] = numerators.get(denominator, 0) + numerator
    total = sum((Fraction(part, whole) for whole, part in numerators.items()), Fraction())
    return float(total / len(values))


def _plain_mean(values: list[float]) -> float:
    try:
        return fsum(values) / len(values)
    except OverflowError:  # the sum exceeds the largest float; the mean does not
        return float(sum(map(Fraction, values)) / len(values))


@lru_cache(maxsize=4096)
def _share(value: float) -> tuple[int, int] | None:
    """Numerator and denominator (at most 1000) of a float; None if there is no such fraction."""
    share = Fraction(value).limit_denominator(1000)
    return share.as_integer_ratio() if float(share) == value else None


def _standard_error(values: list[float], mean: float) -> float | None:
    """Standard deviation (ddof 1) divided by √n; None for fewer than two values."""
    if len(values) < 2:
        return None
    try:
        variance = fsum([(value - mean) ** 2 for value in values]) / (len(values) - 1)
    except OverflowError:
        return hypot(*(value - mean for value in values)) / sqrt(len(values) * (len(values) - 1))
    return sqrt(variance / len(values))


@dataclass(frozen=True)
class Distribution:
    """The distribution of scores."""

    count: int
    mean: float
    low: float
    lower_quartile: float
    median: float
    upper_quartile: float
    high: float
    whiskers: tuple[float, float]
    outliers: tuple[float, ...]


def distribution(values: Sequence[float]) -> Distribution:
    """Describe the distribution of scores.

    >>> of_queries = distribution([0.0, 0.5, 0.5, 0.75, 1.0])
    >>> of_queries.mean, of_queries.lower_quartile, of_queries.median, of_queries.upper_quartile
    (0.55, 0.5, 0.5, 0.75)
    >>> of_queries.whiskers, of_queries.outliers
    ((0.5, 1.0), (0.0,))
    >>> distribution([0.5]).whiskers
    (0.5, 0.5)
    """
    if not values or not all(map(math.isfinite, values)):
        raise ValueError(f"a distribution needs finite values, not {list(values)}")
    column = sorted(map(float, values))
    first, middle, third = np.quantile(column, [0.25, 0.5, 0.75]).tolist()
    reach = 1.5 * (third - first)
    inside = [value for value in column if first - reach <= value <= third + reach]
    return Distribution(
        len(column),
        exact_mean(list(values)),
        column[0],
        first,
        middle,
        third,
        column[-1],
        (inside[0], inside[-1]),
        tuple(value for value in column if not inside[0] <= value <= inside[-1]),
    )
