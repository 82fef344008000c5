"""Corrected scores of systems with intervals, ranks, differences to a baseline, and useful further labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata, t

from exam_pp.metrics import bounded_mean
from exam_pp.metrics.corrected import (
    FEWEST_ERRORS,
    Evidence,
    MoreLabels,
    PairGroups,
    evidence,
    group_scores,
    joined,
    label_covariance,
    label_half_width,
    label_quantile,
    more_labels,
    most_errors,
    query_half_width,
)
from exam_pp.metrics.entry_values import Bools, Floats
from exam_pp.metrics.uncertainty import FEWEST_FOR_T, NO_SPREAD

Source = Literal["queries", "labels"]
"""The content of an interval: the choice of the queries and the judge's error, or only the latter."""

_FACTORS = 24
"""Number of factors of the probabilities at which the variance of larger samples is estimated."""
_TIE_DECIMALS = 12


class Interval(NamedTuple):
    """An estimate with its interval; ``low`` and ``high`` are None over too few queries or equal scores.

    ``by_rule``: no error of the judge was seen, so the ends are bounds by the rule of three. ``bounded``: few
    errors were seen, so the ends are by Gaffke's bound of the mean error. ``few``: the number of errors if
    they are too few for the interval.
    """

    value: float
    low: float | None = None
    high: float | None = None
    by_rule: bool = False
    bounded: bool = False
    few: int | None = None


class Estimate(NamedTuple):
    """The scores of a system.

    ``judged_rank``: Its rank by the judge, 1 is best; tied systems share the best rank. ``difference``: The
    corrected score minus that of the baseline; None for the baseline. ``more``: Labels that would halve the
    interval; None without an interval that can be trusted. ``too_thin``: The labels cannot show the judge's
    error in products, so the interval is not to be trusted; see :class:`exam_pp.metrics.corrected.Evidence`.
    ``difference_too_thin``: The same is true of the system or of the baseline, so the interval of the
    difference is not to be trusted.
    """

    judged: float
    judged_rank: int
    corrected: Interval
    rank: int
    difference: Interval | None
    more: MoreLabels | None
    too_thin: bool
    difference_too_thin: bool


@dataclass(frozen=True)
class Sampling:
    """How intervals are made.

    ``lowest``: The lowest probability of a pair, also of pairs without a label; for bounds.
    """

    intervals: Source
    confidence: float
    probabilities: Sequence[float]
    span: float = 1.0
    lowest: float = 1.0


def best_system(queries: Sequence[PairGroups]) -> int:
    """The index of the system with the highest corrected mean."""
    return int(np.mean([group_scores(pairs, pairs.corrected) for pairs in queries], axis=0).argmax())


def estimates(queries: Sequence[PairGroups], sampling: Sampling, baseline: int) -> list[Estimate]:
    """The scores of all systems, in their order, as means over queries."""
    judged = np.array([group_scores(pairs, pairs.judged) for pairs in queries])
    corrected = np.array([group_scores(pairs, pairs.corrected) for pairs in queries])
    variances = _Variances(queries)
    own, differences = variances.own(), variances.of_differences(baseline)
    with_queries = sampling.intervals == "queries"
    # An interval that adds two uncertain parts gives half of the error probability to each.
    of_part = replace(sampling, confidence=(1 + sampling.confidence) / 2) if with_queries else sampling
    bounds = variances.bounds(of_part)
    # The last factor raises the lowest probability of a labelled pair to 1.
    factors = [float(f) for f in np.geomspace(1.0, 1 / min(sampling.probabilities), _FACTORS)]
    larger = np.array([variances.of_larger_sample(factor) for factor in factors])
    ranks, judged_ranks = _ranks(corrected.mean(axis=0)), _ranks(judged.mean(axis=0))
    thin = variances.too_thin()
    found = []
    for row in range(corrected.shape[1]):
        errors = _Errors.of(queries, row, None, of_part)
        interval, spread = _interval(
            judged[:, row], corrected[:, row], own[:, row], errors, float(bounds[row]), sampling
        )
        difference = None
        if row != baseline:
            change = corrected[:, row] - corrected[:, baseline]
            # The judge may err in opposite directions, so the bounds of both systems add up.
            bound = float(bounds[row] + bounds[baseline])
            of_judge = judged[:, row] - judged[:, baseline]
            errors = _Errors.of(queries, row, baseline, of_part)
            difference, _ = _interval(of_judge, change, differences[:, row], errors, bound, sampling)
        more = None
        if spread is not None and not thin[row]:
            # The rest is by the choice of queries, which labels do not change. Estimates may be below 0.
            other = max(0.0, spread.variance - max(0.0, float(larger[0, row])))
            probabilities = np.array(sampling.probabilities)
            more = more_labels(
                larger[:, row].tolist(),
                factors,
                other if sampling.intervals == "queries" else 0.0,
                spread.quantile,
                probabilities,
            )
        score = float(judged[:, row].mean())
        compared_thin = difference is not None and bool(thin[row] or thin[baseline])
        found.append(
            Estimate(
                score,
                judged_ranks[row],
                interval,
                ranks[row],
                difference,
                more,
                bool(thin[row]),
                compared_thin,
            )
        )
    return found


class _Spread(NamedTuple):
    """The variance of an estimate, and half the width of its interval divided by its standard error."""

    variance: float
    quantile: float


class _Errors(NamedTuple):
    """The errors of the judge that people revealed for a score or a difference of two.

    ``contradictions``: Labels that contradict the judge, without pairs that are always drawn; for a
    difference, at most those of either system, since many for one say nothing of the other. ``mean``:
    Interval of the error of the score by Gaffke's bound; None if these are not few, if pairs have unequal
    probabilities, or if the score is no weighted sum of pairs.
    """

    contradictions: int
    mean: tuple[float, float] | None

    @classmethod
    def of(cls, queries: Sequence[PairGroups], row: int, base: int | None, sampling: Sampling) -> _Errors:
        count, values, largest, units = 0, [], 0.0, 0
        for pairs in queries:
            error, weight = _unit_errors(pairs, row, base)
            by_chance = (pairs.probability < 1).any(axis=-1) if pairs.linear else pairs.probability < 1
            count += int(((error != 0) & by_chance).sum())
            if pairs.linear and pairs.labelled is not None:
                counts = weight > 0
                values.append(error[counts & pairs.labelled.any(axis=-1)])
                largest = max(largest, float(weight.max(initial=0.0)))
                units += int(counts.sum())
        if base is not None:
            of_each = [cls.of(queries, system, None, sampling).contradictions for system in (row, base)]
            count = min(count, *of_each)
        # Gaffke's bound needs equal probabilities, and pairs that are all drawn need no bound.
        equal = {sampling.lowest, *sampling.probabilities}
        if count >= FEWEST_ERRORS or not values or len(equal) > 1 or min(equal) >= 1:
            return cls(count, None)
        # The bound is of the mean error of a unit; the score changes by the sum over the units of a query.
        total, found = units / len(queries), np.concatenate(values)
        # Gaffke's bound needs a range: no unit can change the score by more than this.
        end = largest * sampling.span
        low, high = -end, end
        if found.size:
            low, high = bounded_mean.interval(found, -end, end, sampling.confidence)
        return cls(count, (total * low, total * high))


def _unit_errors(pairs: PairGroups, row: int, base: int | None) -> tuple[Floats, Floats]:
    """The effect of each error on a score or difference, and its largest possible one, for an error of 1.

    If scores are no weighted sums, it is the errors of the pairs of either system, without weights.
    """
    systems = [row] if base is None else [row, base]
    errors = np.einsum("l,lgk->gk", pairs.levels, pairs.errors)
    if not pairs.linear:
        mine = np.any([np.broadcast_to(pairs.members[s], errors.shape) for s in systems], axis=0)
        return np.where(mine & pairs.errors.any(axis=0), 1.0, 0.0), np.zeros(len(errors))
    if pairs.together:
        weighted = [pairs.weights[s] * errors[:, s] for s in systems]
        return (weighted[0] - sum(weighted[1:])), pairs.weights[systems].sum(axis=0)
    weights = [pairs.weights[s] * pairs.members[s, :, 0] for s in systems]
    weight = weights[0] - sum(weights[1:])
    return weight * errors[:, 0], np.abs(weight)


def _interval(
    judged: Floats, scores: Floats, variances: Floats, errors: _Errors, bound: float, sampling: Sampling
) -> tuple[Interval, _Spread | None]:
    """The mean of a system's scores with its interval, and the spread from which it was made.

    ``variances`` are those by the labels, of each query's part of the mean.
    """
    value, confidence, width = float(scores.mean()), sampling.confidence, 0.0
    over_queries = sampling.intervals == "queries"
    # With Gaffke's bound, the interval is around the score of the judge, not the corrected one.
    of_queries = scores if errors.mean is None else judged
    # Equal scores of few queries say nothing of other queries.
    if over_queries and (len(scores) < FEWEST_FOR_T or np.ptp(of_queries) <= NO_SPREAD):
        return Interval(value), None
    few = errors.contradictions if 0 < errors.contradictions < FEWEST_ERRORS else None
    if errors.mean is not None:
        if over_queries:
            width = query_half_width(judged, (1 + confidence) / 2) or 0.0
        centre, (low, high) = float(judged.mean()), errors.mean
        return Interval(value, centre + low - width, centre + high + width, bounded=True), None
    if not over_queries:
        half, by_rule = label_half_width(variances, bound, confidence)
        variance = float(variances.sum())
        spread = _Spread(variance, label_quantile(variances, confidence)) if variance > 0 else None
        return Interval(value, value - half, value + half, by_rule, few=few), spread
    if not errors.contradictions and bound > 0:
        width = (query_half_width(scores, (1 + confidence) / 2) or 0.0) + bound
        return Interval(value, value - width, value + width, by_rule=True), None
    width = query_half_width(scores, confidence) or 0.0
    spread = _Spread(
        float(scores.var(ddof=1)) / len(scores), float(t.ppf((1 + confidence) / 2, len(scores) - 1))
    )
    return Interval(value, value - width, value + width, few=few), spread


def _ranks(means: Floats) -> list[int]:
    return [int(rank) for rank in rankdata(-means.round(_TIE_DECIMALS), method="min")]


@dataclass
class _Variances:
    """The variance by the labels of the mean scores of all systems."""

    queries: Sequence[PairGroups]

    def __post_init__(self) -> None:
        self.disputed = [pairs.disputed() for pairs in self.queries if pairs.errors.any()]
        self.every = np.arange(len(self.queries[0].weights))
        if self.disputed:
            self.together = joined(self.disputed)

    def _covariances(self, right: int | None) -> Floats:
        others = self.every if right is None else np.full_like(self.every, right)
        parts = [label_covariance(pairs, self.every, others) for pairs in self.disputed]
        return np.array(parts).reshape(-1, len(self.every)) / len(self.queries) ** 2

    def own(self) -> Floats:
        """Parts of the variance of each mean, queries × systems; only of queries with a revealed error."""
        return self._covariances(None)

    def of_differences(self, base: int) -> Floats:
        """The same of the difference of each system's mean to that of a system."""
        own = self.own()
        return own + own[:, [base]] - 2 * self._covariances(base)

    def of_larger_sample(self, factor: float) -> Floats:
        """Variance of each mean if the probabilities are multiplied by ``factor``."""
        if not self.disputed:
            return np.zeros(len(self.every))
        return label_covariance(self.together, self.every, self.every, factor) / len(self.queries) ** 2

    def too_thin(self) -> Bools:
        """Systems for which the labels cannot show the variance; see :class:`Evidence`."""
        if all(pairs.together or pairs.members.shape[-1] == 1 for pairs in self.queries):
            return np.zeros(len(self.every), dtype=bool)
        counts = [evidence(pairs) for pairs in self.queries]
        return Evidence(*(np.sum(column, axis=0) for column in zip(*counts, strict=True))).too_thin

    def bounds(self, sampling: Sampling) -> Floats:
        """Most by which errors of the judge could change each mean if the labels show none of them."""
        errors = most_errors(min(sampling.lowest, *sampling.probabilities), sampling.confidence)
        largest = np.array([pairs.weights.max(axis=1, initial=0.0) for pairs in self.queries]).max(axis=0)
        bounds: Floats = sampling.span * np.minimum(1.0, errors * largest / len(self.queries))
        return bounds
