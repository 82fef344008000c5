"""Corrected scores of systems with intervals, ranks, differences to a baseline, and useful further labels.

A score is Σ c h over units: pairs, or entries that were drawn as a whole. People's values h are known for the
drawn units, which have the probabilities π. With predictions ŷ for all units,

    x = Σ c ŷ + Σ_drawn (c / π) (h − ŷ),     Var(x) ≈ Σ_drawn (c / π)² (h − ŷ)² (1 − π).

The second sum corrects whatever is wrong with ŷ, so no assumption about the judge is needed; good predictions
make the variance small. ŷ is from least squares of h with the weights c / π on an indicator of each rating of
the judge, or on its score of a whole entry. A judge that says nothing thus costs nothing: ŷ is then the mean
label.

Sources: Särndal, Swensson and Wretman, "Model Assisted Survey Sampling" (1992), sections 6.4 and 6.5
(regression estimator); Angelopoulos, Duchi and Zrnic, "PPI++: Efficient prediction-powered inference",
arXiv:2311.01453 (2023), here with an intercept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata

from exam_pp.metrics.entry_values import Bools, Floats, Ints
from exam_pp.metrics.uncertainty import FEWEST_FOR_T, NO_SPREAD, mean_interval
from exam_pp.plugins.trust.corrected_pairs import (
    FEW_ERRORS,
    FEWEST_ERRORS,
    MoreLabels,
    PairGroups,
    Spread,
    group_scores,
    joined,
    label_covariance,
    label_spread,
    more_labels,
    most_errors,
    query_spread,
    too_thin,
)

FEWEST_LABELS = 5
"""Ratings with fewer labels share a cell of the regression with the next ones."""


def rating_cells(ratings: Floats, labelled: Bools) -> Floats:
    """Indicators of the judge's ratings, units × cells.

    A rating with fewer than :data:`FEWEST_LABELS` labels shares a cell with the next higher ones, and the
    highest ones with those below. A single cell stands for the labels alone.
    """
    highest, labels = [], 0
    for rating in np.unique(ratings):
        labels += int((labelled & (ratings == rating)).sum())
        if labels >= FEWEST_LABELS:
            highest.append(rating)
            labels = 0
    cells = np.searchsorted(highest[:-1], ratings)
    return np.asarray(cells[:, None] == np.arange(max(1, len(highest))), dtype=float)


def score_line(scores: Floats, labelled: Bools) -> Floats:
    """An intercept and the judge's scores of whole entries, units × 2.

    The scores are 0 if fewer than :data:`FEWEST_LABELS` labelled ones differ from the most frequent one.
    """
    counts = np.unique(scores[labelled], return_counts=True)[1]
    enough = counts.sum() - counts.max() >= FEWEST_LABELS
    return np.stack([np.ones(len(scores)), enough * scores], axis=-1)


def predictions(design: Floats, labels: Floats, weights: Floats) -> Floats:
    """Xβ for all units, with β by weighted least squares of the labels on X.

    ``design``: X, units × columns. ``labels``: Units × values; NaN for units without a label. ``weights``: Of
    the squares, by unit.
    """
    known = ~np.isnan(labels).any(axis=1)
    root = np.sqrt(weights[known])[:, None]
    fitted: Floats = design @ np.linalg.lstsq(design[known] * root, labels[known] * root, rcond=None)[0]
    return fitted


def fitted(pairs: PairGroups) -> PairGroups:
    """The pairs with predictions ŷ in place of the judge's values.

    The two sides of a difference have regressions of their own, for the judge may favour a system. Few
    entries fit the line better than it predicts others, so their errors are multiplied by the mean ratio of
    an error with and without the entry in the fit, n / (n − columns). Their sum is 0, so that the estimate
    stays.
    """
    pulls = np.einsum("sg,sgm->gm", pairs.weights, pairs.members).ravel()
    ratings, known = pairs.ratings_or_values.ravel(), pairs.labelled.ravel()
    chances = pairs.probability.ravel()
    values, errors = (array.reshape(len(pairs.levels), -1).T for array in (pairs.judged, pairs.errors))
    result, factor = values.copy(), 1.0
    for sign in (-1, 1):
        side = (np.sign(pulls) == sign) & ~np.isnan(ratings)
        # Fewer errors say too little of how the judge errs.
        if np.count_nonzero(errors[side].any(axis=1)) >= FEWEST_ERRORS:
            labels = np.where(known[:, None], values + errors, np.nan)[side]
            design = (score_line if pairs.together else rating_cells)(ratings[side], known[side])
            result[side] = predictions(design, labels, np.abs(pulls / chances)[side])
            if pairs.together and chances.min() < 1:
                count = known[side].sum()
                factor = count / (count - design.any(axis=0).sum())
    predicted = pairs.with_values(result.T.reshape(pairs.judged.shape))
    return replace(predicted, errors=factor * predicted.errors)


Source = Literal["queries", "labels"]
"""The content of an interval: the choice of the queries and the judge's error, or only the latter."""

FEWEST_ENTRIES = 30
"""With fewer drawn entries, intervals of differences contain the difference too rarely."""
_TIE_DECIMALS = 12


class Interval(NamedTuple):
    """An estimate with its interval; ``low`` and ``high`` are None over too few queries or equal scores.

    All are within the range of the measure. ``by_rule``: no error of the judge was seen, so the ends are
    bounds by the rule of three. ``bounded``: few errors were seen, so the ends are by Gaffke's bound of the
    mean error. ``few``: the number of errors if they are too few for the interval. ``outside``: the estimate
    is outside of the range, so its end is shown; an interval that is outside is None.
    """

    value: float
    low: float | None = None
    high: float | None = None
    by_rule: bool = False
    bounded: bool = False
    few: int | None = None
    outside: bool = False

    def within(self, low: float, high: float) -> Interval:
        """The part of the interval that is in the range of the measure."""
        value = min(max(self.value, low), high)
        clipped = self._replace(value=value, outside=value != self.value)
        if self.low is None or self.high is None or self.high < low or self.low > high:
            return clipped._replace(low=None, high=None)
        return clipped._replace(low=max(self.low, low), high=min(self.high, high))


class Estimate(NamedTuple):
    """The scores of a system.

    ``alone``: The score by the labels alone, without the judge's grades; None without a label.
    ``judged_rank``: Its rank by the judge, 1 is best; tied systems share the best rank. ``difference``: The
    corrected score minus that of the baseline; None for the baseline. ``more``: Labels that would halve the
    interval; None without an interval that can be trusted. ``too_thin``: The labels cannot show the judge's
    error in products, so the interval is not to be trusted; see
    :func:`exam_pp.plugins.trust.corrected_pairs.too_thin`.
    ``difference_too_thin``: The same is true of the system or of the baseline, so the interval of the
    difference is not to be trusted. ``few_errors``: The labels show few errors of the judge, so that the
    interval may be too narrow.
    """

    judged: float
    judged_rank: int
    corrected: Interval
    alone: Interval | None
    rank: int
    difference: Interval | None
    more: MoreLabels | None
    too_thin: bool
    difference_too_thin: bool
    few_errors: bool


@dataclass(frozen=True)
class Sampling:
    """How intervals are made.

    ``lowest``: The lowest probability of a pair, also of pairs without a label; for bounds. ``low``,
    ``high``: The range of the measure.
    """

    intervals: Source
    confidence: float
    probabilities: Sequence[float]
    low: float = 0.0
    high: float = 1.0
    lowest: float = 1.0

    @property
    def span(self) -> float:
        """The largest difference of two values."""
        return self.high - self.low


def estimates(
    queries: Sequence[PairGroups], sampling: Sampling, baseline: int | None = None
) -> list[Estimate]:
    """The scores of all systems, in their order, as means over queries.

    ``baseline``: The system to which others are compared. Default: that with the highest corrected score.
    """
    pairs = joined(queries)
    query = np.repeat(np.arange(len(queries)), [len(of.probability) for of in queries])
    with_judge = _Sample(pairs, query, len(queries), sampling)
    labels_alone = replace(with_judge, pairs=pairs.without_judge())
    scores = [with_judge.score(row) for row in range(len(pairs.weights))]
    if baseline is None:
        baseline = int(np.argmax([score.corrected.mean() for score in scores]))
    ranks, judged_ranks = (
        rankdata(-np.round([values.mean() for values in of], _TIE_DECIMALS), method="min")
        for of in zip(*((score.corrected, score.judged) for score in scores), strict=True)
    )
    thin = np.zeros(len(scores), dtype=bool) if pairs.linear else too_thin(pairs)
    drawn_by_chance = min(sampling.probabilities) < 1
    compared, over_queries = not too_few_entries(queries), sampling.intervals == "queries"
    found = []
    for row, score in enumerate(scores):
        alone, difference = None, None
        if score.labels:
            alone = _interval(labels_alone.score(row), sampling)[0].within(sampling.low, sampling.high)
        if row != baseline:
            of_two = with_judge.score(row, baseline)
            # Many contradictions of one system say nothing of the other.
            fewest = min(of.contradictions for of in (of_two, score, scores[baseline]))
            interval, _ = _interval(of_two._replace(contradictions=fewest), sampling)
            difference = interval if compared else Interval(interval.value)
            difference = difference.within(-sampling.span, sampling.span)
        interval, spread = _interval(score, sampling)
        more = None
        if spread is not None and not thin[row]:
            # The rest is by the choice of queries, which labels do not change. Estimates may be below 0.
            of_labels = float(score.variance(1.0).sum())
            other = max(0.0, spread.variance - max(0.0, of_labels)) if over_queries else 0.0
            more = more_labels(score.variance, other, spread.quantile, np.array(sampling.probabilities))
        found.append(
            Estimate(
                float(score.judged.mean()),
                int(judged_ranks[row]),
                interval.within(sampling.low, sampling.high),
                alone,
                int(ranks[row]),
                difference,
                more,
                bool(thin[row]),
                difference is not None and bool(thin[row] or thin[baseline]),
                score.contradictions < FEW_ERRORS and not interval.bounded and drawn_by_chance,
            )
        )
    return found


def too_few_entries(queries: Sequence[PairGroups]) -> bool:
    """Whether too few entries were drawn as a whole for intervals of differences; False if all were drawn."""
    return queries[0].together and sum(int(of.labelled.any(axis=1).sum()) for of in queries) < min(
        FEWEST_ENTRIES, sum(len(of.labelled) for of in queries)
    )


class _Score(NamedTuple):
    """A score, or a difference of two, as a mean over queries.

    ``judged``, ``corrected``: By query. ``variance``: Gives the variance by the labels, of each query's part
    of the mean, for a factor of the probabilities. ``labels``: The number of labels, of which
    ``contradictions`` contradict the judge, without pairs that are always drawn. ``mean_error``: Gives the
    interval of the judge's error by Gaffke's bound; None if pairs have unequal probabilities, or if the score
    is no weighted sum. ``bound``: Most by which errors of the judge could change the mean if the labels show
    none of them. ``whole``: Whether entries were drawn as a whole.
    """

    judged: Floats
    corrected: Floats
    variance: Callable[[float], Floats]
    labels: int
    contradictions: int
    mean_error: Callable[[], tuple[float, float]] | None
    bound: float
    whole: bool


@dataclass(frozen=True)
class _Sample:
    """The pairs of all queries; ``query``: The number of each group's query."""

    pairs: PairGroups
    query: Ints
    queries: int
    sampling: Sampling

    def score(self, row: int, base: int | None = None) -> _Score:
        """The score of a system, or its difference to that of ``base``."""
        pairs, sampling, queries = self.pairs.of_systems(row, base), self.sampling, self.queries
        predicted = fitted(pairs)
        signs = np.array([1, -1])[: len(pairs.weights)]
        left, right = np.indices((len(signs), len(signs))).reshape(2, -1)

        def by_query(parts: Floats) -> Floats:
            return np.asarray(np.bincount(self.query, parts, queries), dtype=float)

        def variance(factor: float) -> Floats:
            covariances = label_covariance(predicted, left, right, factor)
            return by_query((signs[left] * signs[right]) @ covariances) / queries**2

        used = (pairs.members & (pairs.weights != 0)[..., None]).any(axis=0)
        labelled = used & pairs.labelled
        # An interval that adds two uncertain parts gives half of the error probability to each.
        over_queries = sampling.intervals == "queries"
        confidence = (1 + sampling.confidence) / 2 if over_queries else sampling.confidence

        def mean_error() -> tuple[float, float]:
            # The bound is of the mean error of a unit; the score changes by the sum over those of a query.
            total, effects = used.sum() / queries, (pairs.weights[0] * pairs.errors[0, :, 0])[labelled[:, 0]]
            # It needs a range: no unit can change the score by more than this, or a difference by twice this.
            end = (
                np.abs(pairs.weights).max(initial=0.0)
                * sampling.span
                * (2 if pairs.together and base is not None else 1)
            )
            low, high = mean_interval(effects, (-end, end), confidence) or (-end, end)
            return total * low, total * high

        # Gaffke's bound needs equal probabilities, and pairs that are all drawn need no bound.
        equal = {sampling.lowest, *sampling.probabilities}
        # The judge may err in opposite directions, so the bounds of two systems add up.
        largest = sum(np.abs(self.pairs.weights[s]).max(initial=0.0) for s in (row, base) if s is not None)
        undetected = most_errors(min(equal), confidence) * largest / queries
        return _Score(
            by_query(signs @ group_scores(pairs, pairs.judged)),
            by_query(signs @ group_scores(predicted, predicted.corrected)),
            variance,
            int(labelled.sum()),
            int((labelled & pairs.errors.any(axis=0) & (pairs.probability < 1)).sum()),
            mean_error if pairs.linear and len(equal) == 1 and min(equal) < 1 else None,
            float(sampling.span * min(len(signs), undetected)),
            pairs.together,
        )


def _interval(score: _Score, sampling: Sampling) -> tuple[Interval, Spread | None]:
    """The mean of a score with its interval, and the spread from which it was made."""
    value, confidence = float(score.corrected.mean()), sampling.confidence
    over_queries, contradictions = sampling.intervals == "queries", score.contradictions
    bounded = score.mean_error is not None and contradictions < FEWEST_ERRORS
    # With Gaffke's bound, the interval is around the score of the judge, not the corrected one.
    of_queries = score.judged if bounded else score.corrected
    # Equal scores of few queries say nothing of other queries.
    if over_queries and (len(of_queries) < FEWEST_FOR_T or np.ptp(of_queries) <= NO_SPREAD):
        return Interval(value), None
    few = contradictions if 0 < contradictions < FEWEST_ERRORS else None
    # An interval that adds two uncertain parts gives half of the error probability to each.
    width = query_spread(of_queries, (1 + confidence) / 2).half_width if over_queries else 0.0
    if score.mean_error is not None and bounded:
        centre, (low, high) = float(score.judged.mean()), score.mean_error()
        return Interval(value, centre + low - width, centre + high + width, bounded=True), None
    if over_queries:
        spread = query_spread(score.corrected, confidence, score.whole)
        by_rule = not contradictions and score.bound > 0
    else:
        spread = label_spread(score.variance(1.0), confidence)
        by_rule = not spread.variance and score.bound > 0
    half = width + score.bound if by_rule else spread.half_width
    interval = Interval(value, value - half, value + half, by_rule, few=few)
    return interval, None if by_rule or not spread.variance else spread
