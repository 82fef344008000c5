"""Leaderboards: mean and standard error of every system, over score rows."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from math import fsum, hypot, sqrt
from typing import NamedTuple

from exam_pp.results import ALL_QUERIES, Score


class Standing(NamedTuple):
    """What one metric says of a system; ``stderr`` is None for a single query."""

    system: str
    metric: str
    mean: float
    stderr: float | None
    queries: int


def standings(scores: Iterable[Score]) -> list[Standing]:
    """One row for each system and metric, in the order in which they appear.

    The mean is over the system's rows, all queries weighing the same. Where a metric gives its own
    row for :data:`~exam_pp.results.ALL_QUERIES` (a total, say), that value stands, without an error.
    """
    values: dict[tuple[str, str], list[float]] = {}
    given: dict[tuple[str, str], float] = {}
    for score in scores:
        key = (score.system, score.metric)
        if score.query_id == ALL_QUERIES:
            values.setdefault(key, [])
            given[key] = score.value
        else:
            values.setdefault(key, []).append(score.value)
    rows = []
    for key, column in values.items():
        if key in given:
            rows.append(Standing(*key, given[key], None, len(column)))
        else:
            mean = exact_mean(column)
            rows.append(Standing(*key, mean, _standard_error(column, mean), len(column)))
    return rows


def exact_mean(values: list[float]) -> float:
    """The mean, the same for all lists whose exact means are equal.

    Shares such as 3/10 are not exact as floats; their sum depends on its terms, and the noise of
    1e-17 would order systems that are tied. So counts are restored from shares (denominators up to
    1000), added as fractions, and divided once. Other values are added without loss.
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
    except OverflowError:  # a sum beyond the largest float, whose mean is not
        return float(sum(map(Fraction, values)) / len(values))


@lru_cache(maxsize=4096)
def _share(value: float) -> tuple[int, int] | None:
    """The fraction with a small denominator that a float stands for; the same ones occur again and again."""
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
