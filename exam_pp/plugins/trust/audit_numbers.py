"""Numbers of audits, with intervals over queries: correlations, calibration, the advantage of a family.

Correlations are partial, r_xy.z = (r_xy - r_xz r_yz) / sqrt((1 - r_xz^2)(1 - r_yz^2)), of numbers x, y and z
of a unit. A grader is calibrated if it is right in a share p of the pairs to which it gives the probability
p. The advantage of a family is the mean score of its systems minus that of the others, in standard deviations
of the systems' means, because scores have different scales.

Sources: Fisher, "The distribution of the partial correlation coefficient", Metron 3 (1924). Correlations of
deviations from the query's means are those that hold the query constant (Frisch and Waugh, "Partial time
regressions as compared with individual trends", Econometrica 1, 1933). Guo, Pleiss, Sun and Weinberger, "On
calibration of modern neural networks", ICML 2017, section 2 (ECE, reliability diagram); Naeini, Cooper and
Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning", AAAI 2015 (the probability of
the positive class); Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather
Review 78 (1950); Bröcker and Smith, "Increasing the reliability of reliability diagrams", Weather and
Forecasting 22 (2007) (errors of a calibrated grader). Angrist and Pischke, "Mostly Harmless Econometrics"
(2009), section 5.2 (differences in differences).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from exam_pp.metrics.entry_values import Bools, Floats, Ints
from exam_pp.metrics.uncertainty import Interval, intervals, query_counts
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.trust.pictures import ReliabilityBin

BINS = 10
_BLOCK = 1_000_000
"""Random numbers that are drawn at a time."""
_LEAST_REST = 1e-12
"""Share of the variance that z must leave to x and y; below it, the partial correlation is undefined."""


class Estimate(NamedTuple):
    """A number with its interval over queries; None is undefined."""

    value: float | None
    interval: Interval | None


def over_queries(parts: Floats, statistic: Callable[[Floats], Floats], statistics: Statistics) -> Estimate:
    """A statistic of the sum of the queries' parts, with its interval over resampled queries.

    ``statistic``: Of each row of sums; NaN is undefined.
    """
    (value,) = statistic(parts.sum(axis=0)[None]).tolist()
    counts = query_counts(len(parts), statistics.samples, statistics.seed)
    drawn = statistic(np.tensordot(counts, parts, axes=1))
    (interval,) = intervals(drawn[:, None], len(parts), statistics.confidence)
    return Estimate(None if np.isnan(value) else value, interval)


Group = Sequence[Sequence[float]]
"""Units that are compared with each other only: rows (x, y) or (x, y, z)."""


class Correlation(NamedTuple):
    """A correlation of so many units; None if x or y has only one value in every group."""

    value: float | None
    interval: Interval | None
    units: int
    queries: int


def correlation_within(queries: Sequence[Sequence[Group]], statistics: Statistics) -> Correlation:
    """Rank correlation of x and y within groups; of rows with z, the partial correlation.

    Numbers are replaced by their ranks in the group (ties: average rank), divided by the number of its units,
    so that a large group has no larger ranks, and then by their deviations from the mean. For a single group
    this is Spearman's ρ.
    """
    kept = [[group for group in groups if len(group) > 1] for groups in queries]
    kept = [groups for groups in kept if groups]
    if not kept:
        return Correlation(None, None, 0, 0)
    products = np.array([sum(map(_products, groups)) for groups in kept])
    units = sum(len(group) for groups in kept for group in groups)
    return Correlation(*over_queries(products, _correlations, statistics), units, len(kept))


def _products(group: Group) -> Floats:
    """Sums of squares and products of the deviations of the ranks from their means, columns × columns."""
    ranks = rankdata(np.asarray(group, dtype=float), axis=0) / len(group)
    # Without the first row, deviations of equal numbers are exactly 0.
    ranks = ranks - ranks[0]
    deviations = ranks - ranks.mean(axis=0)
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


class Calibration(NamedTuple):
    """How well probabilities agree with labels.

    ``bias``: Mean probability minus share: positive for a grader that promises too much. ``brier``: Brier
    score, the mean squared difference of probability and label. ``expected_ece``: Mean ECE of a calibrated
    grader with the same probabilities, which is above 0 because pairs are few. ``highest_ece``: ECE that such
    a grader exceeds with a probability of 1 - confidence.
    """

    pairs: int
    queries: int
    probability: float
    share: float
    bias: Estimate
    ece: Estimate
    brier: Estimate
    expected_ece: float
    highest_ece: float
    bins: Sequence[ReliabilityBin]


def calibration(
    queries: Sequence[Sequence[tuple[float, bool]]], statistics: Statistics
) -> Calibration | None:
    """Compare probabilities with labels.

    ``queries``: For each query, pairs of probability (0..1) and label. Returns the numbers; None without
    pairs.
    """
    pairs = [(number, *pair) for number, query in enumerate(filter(None, queries)) for pair in query]
    if not pairs:
        return None
    query, p, y = np.array(pairs, dtype=float).T
    in_bin = np.eye(BINS)[equal_width(p)]

    def over_pairs(values: Floats, statistic: Callable[[Floats], Floats]) -> Estimate:
        parts = np.zeros((int(query.max()) + 1, values.shape[1] + 1))
        np.add.at(parts, query.astype(np.int64), np.column_stack([values, np.ones(len(p))]))
        return over_queries(parts, statistic, statistics)

    differences = (p - y)[:, None]
    simulated = _calibrated_errors(p, in_bin, statistics)
    return Calibration(
        len(p),
        int(query.max()) + 1,
        float(p.mean()),
        float(y.mean()),
        over_pairs(differences, _means),
        over_pairs(in_bin * differences, _errors),
        over_pairs(differences**2, _means),
        float(simulated.mean()),
        float(np.percentile(simulated, 100 * statistics.confidence)),
        [
            ReliabilityBin(
                index / BINS,
                (index + 1) / BINS,
                int(among.sum()),
                float(p[among].mean()),
                float(y[among].mean()),
            )
            for index, among in enumerate(in_bin.T > 0)
            if among.any()
        ],
    )


def equal_width(probabilities: Floats | Sequence[float]) -> Ints:
    """The number of the bin of each probability: bin m has (m / 10, (m + 1) / 10], and bin 0 also 0.

    >>> equal_width([0.0, 0.1, 0.11, 1.0]).tolist()
    [0, 0, 1, 9]
    """
    values = np.asarray(probabilities, dtype=float)
    # A sum of probabilities such as 0.1 + 0.2 is above 0.3, so products are rounded.
    numbers: Ints = np.clip(np.ceil((values * BINS).round(9)).astype(np.int64) - 1, 0, BINS - 1)
    return numbers


def _means(sums: Floats) -> Floats:
    """Means of rows of (sum, number)."""
    return np.asarray(sums[:, 0] / sums[:, 1])


def _errors(sums: Floats) -> Floats:
    """ECE of rows of the sums of the differences in each bin, and the number of pairs."""
    return np.asarray(np.abs(sums[:, :-1]).sum(axis=1) / sums[:, -1])


def _calibrated_errors(p: Floats, in_bin: Floats, statistics: Statistics) -> Floats:
    """ECE of simulated labels that are drawn with the probabilities."""
    rng = np.random.default_rng(statistics.seed)
    step = max(1, _BLOCK // len(p))
    blocks = []
    for start in range(0, statistics.samples, step):
        differences = p - (rng.random((min(step, statistics.samples - start), len(p))) < p)
        blocks.append(np.abs(differences @ in_bin).sum(axis=1) / len(p))
    return np.concatenate(blocks)


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


def advantage(scores: Matrix, own: Sequence[bool], statistics: Statistics) -> Advantage:
    """The advantage of the systems in ``own`` over the others; both kinds must exist."""
    values, among = np.asarray(scores, dtype=float), np.asarray(own, dtype=bool)
    means = values.mean(axis=1)
    found = over_queries(values.T / values.shape[1], lambda of: _standardised(of, among), statistics)
    rank = rankdata(-means.round(12))[among].mean()
    return Advantage(float(means[among].mean()), float(means[~among].mean()), float(rank), *found)


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
