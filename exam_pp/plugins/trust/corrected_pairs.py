"""Cover corrected by a sample of people's labels of single pairs, with the variance that the sample causes.

A pair is a passage and a bank entry, or a passage alone for direct grades. Each pair is drawn with a known
probability π, independently of all other pairs, and people label the drawn pairs (I = 1) with values h. With
values j that are known for all pairs, the unknown h is replaced by

    y = j + I (h − j) / π,     E[y] = h,     E[y²] − h² = (h − j)² (1 − π) / π.

The expectation is over the draw alone, so no assumption about j is needed. Here j are predictions of people's
values from the judge's ratings (:mod:`exam_pp.plugins.trust.corrected_estimates`, which also has the
formulas of weighted sums). An entry is not covered if no passage covers it, and draws are independent, so

    E[Π (1 − y)] = Π (1 − h):

Cover from products of y is unbiased, too, although it is not linear. With v = I (h − j)² (1 − π) / π², an
unbiased estimate of the variance of a product is Π (1 − y)² − Π ((1 − y)² − v).

Sources: Horvitz and Thompson, "A Generalization of Sampling Without Replacement from a Finite Universe",
JASA 47 (1952). The products are exam_pp's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq

from exam_pp.metrics.entry_values import Bools, Floats, Ints
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.plugins.trust.pair_sample import Block

FEWEST_ERRORS = 5
"""With fewer labels that contradict the judge, the variance of the labels says nothing."""
FEW_ERRORS = 10
"""With fewer disagreements of judge and people, the variance of the labels is too uncertain to trust."""
MOST_HIDDEN = 0.5
"""Highest estimated number of undrawn missed pairs per uncovered group for which products are trusted."""


@dataclass(frozen=True)
class PairGroups:
    """The pairs of a query in groups, with the judge's values and the errors that people revealed.

    The score of a system is ``Σ_l levels[l] Σ_g weights[g] (1 − Π_k (1 − value[l, g, k]))``, where k goes
    over the system's members of the group. For Cover, a group is a bank entry and its members are the
    passages; for a mean of labels, each passage is a group of its own. Groups have no pairs in common.
    Arrays may have further axes in front, which all have in common.

    ``judged``: The judge's values j, or predictions in their place, levels × groups × members. ``errors``:
    h − j for labelled pairs, otherwise 0; shape as ``judged``. ``probability``: Probability that a pair is
    drawn and labelled, groups × members; any positive value for pairs without a label. ``members``: Whether a
    system has the member, systems × groups (or 1) × members. ``weights``: Weight of each group in the score
    of each system, systems × groups. ``labelled``: Whether people labelled the pair, shape as
    ``probability``. ``together``: Whether all members of a group were drawn together, with the probability of
    the group. Members are then the systems, each with its own value, so that scores are linear. ``ratings``:
    The judge's ratings, shape as ``probability``; NaN without a grade. By default, its values.
    """

    judged: Floats
    errors: Floats
    probability: Floats
    members: Bools
    weights: Floats
    levels: Floats
    labelled: Bools
    together: bool = False
    ratings: Floats | None = None

    @property
    def linear(self) -> bool:
        """Whether scores are weighted sums of the values."""
        return self.together or self.judged.shape[-1] == 1

    @property
    def corrected(self) -> Floats:
        """The values y = j + I (h − j) / π; shape as ``judged``."""
        return self.judged + self.errors / self.probability[..., None, :, :]

    @property
    def ratings_or_values(self) -> Floats:
        """What the judge gave each pair, shape as ``probability``."""
        return np.einsum("l,lgk->gk", self.levels, self.judged) if self.ratings is None else self.ratings

    def with_values(self, values: Floats, ratings: Floats | None = None) -> PairGroups:
        """The pairs with other values in place of the judge's, and the errors of these."""
        errors = np.where(self.labelled, self.judged + self.errors - values, 0.0)
        return replace(self, judged=values, errors=errors, ratings=ratings)

    def without_judge(self) -> PairGroups:
        """The pairs as graded by a judge that gives all the same rating, so that only labels count."""
        ratings = None if self.ratings is None else 0 * self.ratings
        return self.with_values(np.zeros_like(self.judged), ratings)

    def of_systems(self, row: int, base: int | None) -> PairGroups:
        """The pairs of a system, or of two.

        If scores are weighted sums, the only system is the difference of the two; a group has one member.
        """
        rows = [row] if base is None else [row, base]
        if not self.linear:
            return replace(self, members=self.members[rows], weights=self.weights[rows])
        values = [np.einsum("l,lgm->gm", self.levels, array) for array in (self.judged, self.errors)]
        weights, ratings = self.weights[row], None if self.together else self.ratings
        if self.together:
            values = [array[:, [row]] - sum(array[:, [other]] for other in rows[1:]) for array in values]
        else:
            of_rows = self.weights[rows] * self.members[rows, :, 0]
            weights = of_rows[0] - of_rows[1:].sum(axis=0)
        return PairGroups(
            values[0][None],
            values[1][None],
            self.probability[:, :1],
            np.ones((1, len(weights), 1), dtype=bool),
            weights[None],
            np.ones(1),
            self.labelled[:, :1],
            self.together,
            ratings,
        )


def joined(parts: Sequence[PairGroups]) -> PairGroups:
    """The groups of several queries, at least one, as those of one query; systems and levels are the same."""
    most = max(pairs.judged.shape[-1] for pairs in parts)

    def together(values: Iterable[NDArray[Any]], value: float, axis: int) -> NDArray[Any]:
        padded = [
            np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, most - array.shape[-1])], constant_values=value)
            for array in values
        ]
        return np.concatenate(padded, axis=axis)

    members = (
        np.broadcast_to(pairs.members, (*pairs.weights.shape, pairs.members.shape[-1])) for pairs in parts
    )
    return PairGroups(
        together((pairs.judged for pairs in parts), 0, 1),
        together((pairs.errors for pairs in parts), 0, 1),
        together((pairs.probability for pairs in parts), 1, 0),
        together(members, 0, 1),
        np.concatenate([pairs.weights for pairs in parts], axis=1),
        parts[0].levels,
        together((pairs.labelled for pairs in parts), 0, 0),
        parts[0].together,
        together((pairs.ratings_or_values for pairs in parts), np.nan, 0),
    )


def group_scores(pairs: PairGroups, values: Floats) -> Floats:
    """Each group's part of the score of each system, if the pairs have these values.

    ``values``: ``judged`` or ``corrected``. Returns systems × groups; the score is the sum.
    """
    factors = np.where(pairs.members[..., None, :, :, :], 1 - values[..., :, None, :, :], 1.0)
    scores: Floats = np.einsum(
        "l,...sg,...lsg->...sg", pairs.levels, pairs.weights, 1 - factors.prod(axis=-1)
    )
    return scores


def label_covariance(pairs: PairGroups, left: Ints, right: Ints, more: float = 1.0) -> Floats:
    """Unbiased estimates of the covariance of corrected scores over all draws of the sample.

    For two products over A and B it is the difference of two products: over the members of both, of
    ``x_a x_b − c + c'`` and of ``x_a x_b − c``, and over the other members of x, where x = 1 − y,
    ``c = I e_a e_b (1 − π) / π²`` and e = h − j. For another sample with probabilities π' = min(1, more π),
    ``c' = (I / π) e_a e_b (1 − π') / π'``; for the same sample c' = c.

    ``more``: Factor of the probabilities. Returns the part of each group in the covariance of each two
    systems, pairs of systems × groups. Estimates of variances can be negative.
    """
    x = 1 - pairs.corrected
    pi = pairs.probability
    new = np.minimum(1.0, more * pi)
    in_left, in_right = pairs.members[..., left, :, :], pairs.members[..., right, :, :]
    both = in_left & in_right
    weights = pairs.weights[..., left, :] * pairs.weights[..., right, :]
    total = np.zeros(weights.shape)
    for i, level_i in enumerate(pairs.levels):
        for k, level_k in enumerate(pairs.levels):
            errors = pairs.errors[..., i, :, :] * pairs.errors[..., k, :, :]
            mean = x[..., i, :, :] * x[..., k, :, :] - errors * (1 - pi) / pi**2
            spread = mean + errors / pi * (1 - new) / new
            single = np.where(
                in_left,
                x[..., None, i, :, :],
                np.where(in_right, x[..., None, k, :, :], 1.0),
            )
            products = [
                np.where(both, shared[..., None, :, :], single).prod(axis=-1) for shared in (spread, mean)
            ]
            total += level_i * level_k * weights * (products[0] - products[1])
    return total


def too_thin(pairs: PairGroups) -> Bools:
    """Systems with products whose variance the labels cannot show, by the first level.

    A product of n refuted members has the value Π 1/π only if all n were drawn, and 0 otherwise. If that is
    rare, a typical sample shows neither the error nor its variance. So a system needs labels that refute no
    pair that the judge covers, or enough groups in which they refute all of these. The estimated number of
    pairs without a label that people cover, in groups that the judge does not cover, has a limit, too. The
    limits are those beyond which intervals were too narrow in simulations
    (docs/how-to/trust.md). Pairs that are always drawn do not count.
    """
    judged, errors = pairs.judged[0] > 0, pairs.errors[0]
    covered = (pairs.members & judged).any(axis=-1)
    refuted = (pairs.members & (errors < 0) & (pairs.probability < 1)).any(axis=(-1, -2))
    products = np.where(pairs.members, 1 - pairs.corrected[0], 1.0).prod(axis=-1)
    revealed = (covered & (products != 0)).sum(axis=-1)
    missed = pairs.members * np.where(errors > 0, 1 / pairs.probability - 1, 0.0)
    hidden = np.where(covered, 0.0, missed.sum(axis=-1)).sum(axis=-1)
    most = MOST_HIDDEN * np.maximum((~covered).sum(axis=-1), 1)
    thin: Bools = (refuted & (revealed < FEW_ERRORS)) | (hidden > most)
    return thin


class Spread(NamedTuple):
    """The variance of a mean, and half the width of its interval divided by its standard error."""

    variance: float
    quantile: float

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return float(self.quantile * self.variance**0.5)


def label_spread(variances: Floats, confidence: float) -> Spread:
    """The spread of a mean for these queries, by the draw of the labels; 0 without variance.

    The variance is the sum of ``variances``, one for each query. The quantile is that of Student's t with
    ``(Σ v)² / Σ v²`` degrees of freedom, because the sum is uncertain if few queries contribute.
    Source: Satterthwaite, "An Approximate Distribution of Estimates of Variance Components", Biometrics
    Bulletin 2 (1946).
    """
    variance = float(variances.sum())
    if variance <= 0:
        return Spread(0.0, 0.0)
    degrees = max(1.0, variance**2 / float((variances**2).sum()))
    return Spread(variance, float(stats.t.ppf((1 + confidence) / 2, degrees)))


def query_spread(scores: Floats, confidence: float, whole: bool = False) -> Spread:
    """The spread of a mean of at least two scores over queries, with the quantile of Student's t.

    The scores are independent over queries, so their variance contains the choice of the queries and the
    error of the judge. ``whole``: Whether entries were drawn as a whole. Then few queries have labels, and
    the degrees of freedom are those of :func:`label_spread`.
    """
    parts = (scores - scores.mean()) ** 2 / (len(scores) * (len(scores) - 1))
    spread = label_spread(parts, confidence)
    quantile = float(stats.t.ppf((1 + confidence) / 2, len(scores) - 1))
    return spread if whole else spread._replace(quantile=quantile)


def most_errors(probability: float, confidence: float) -> float:
    """The number of errors of the judge that stays undetected with probability 1 − ``confidence``.

    None of n errors is drawn with probability (1 − π)ⁿ. For small π this is the rule of three: at 95 %, up
    to 3 / π errors. Source: Hanley and Lippman-Hand, "If Nothing Goes Wrong, Is Everything All Right?",
    JAMA 249 (1983).
    """
    return 0.0 if probability >= 1 else log1p(-confidence) / log1p(-probability)


@dataclass(frozen=True)
class MoreLabels:
    """The labels that would halve an interval.

    ``labels``: Expected number of additional labels; None if no number is enough.
    """

    labels: int | None
    limit: float


def more_labels(
    variance: Callable[[float], Floats], other: float, quantile: float, probabilities: Floats
) -> MoreLabels:
    """The number of additional labels with which an interval is half as wide.

    ``variance``: Gives the variance by the labels, of each query's part, for a factor of the probabilities.
    ``other``: Variance that
    labels do not change: that of the choice of queries.
    """
    aim = (max(float(variance(1.0).sum()), 0.0) + other) / 4 - other
    most = 1 / float(probabilities.min())
    if variance(most).sum() > aim:
        return MoreLabels(None, quantile * other**0.5)
    factor = brentq(lambda factor: float(variance(factor).sum()) - aim, 1.0, most)
    # Each labelled pair stands for 1 / π pairs of the population.
    drawn = float((np.minimum(1.0, factor * probabilities) / probabilities).sum())
    return MoreLabels(round(drawn - len(probabilities)), quantile * other**0.5)


@dataclass(frozen=True)
class LabelledPair:
    """A drawn pair with its label, and the probability that it was drawn and labelled."""

    passage_id: str
    entry_id: str
    label: int
    probability: float


class UsedLabel(NamedTuple):
    """The rating of the judge and the label of people for a pair of an evaluated passage."""

    rating: int
    label: int
    probability: float


@dataclass(frozen=True)
class RatedPairs:
    """The pairs of a query, entries × passages; passages are those within the cutoff of any system.

    ``judged``: Ratings of the judge; NaN without a grade. ``people``: Labels of people; NaN without a label.
    ``members``: Whether a system has the passage, systems × passages.
    """

    judged: Floats
    people: Floats
    probability: Floats
    members: Bools
    used: Sequence[UsedLabel]
    unknown: int

    @property
    def ungraded(self) -> int:
        """The number of pairs without a grade of the judge."""
        return int(np.isnan(self.judged).sum())

    @property
    def values(self) -> Floats:
        """All ratings of the judge and labels of people."""
        values = np.concatenate([self.judged.ravel(), self.people.ravel()])
        return np.asarray(values[~np.isnan(values)])


def not_drawable(query: GradedQuery, blocks: Iterable[Block]) -> tuple[list[str], set[int]]:
    """The entries and passages (as indices) of a query that the population of the draw does not cover.

    A pair without a grade of the judge is covered if the population has its passage and its entry, because
    it counts in the same way as at the draw.
    """
    known = 0
    drawable: dict[str, int] = {}
    for block in blocks:
        mask = sum(1 << query.entries[key] for key in query.entries.keys() & block.entries)
        known |= mask
        for passage_id in block.passages:
            drawable[passage_id] = drawable.get(passage_id, 0) | mask
    entries = [key for key, position in query.entries.items() if not known >> position & 1]
    passages = {
        index
        for index, passage in enumerate(query.passages)
        if passage.passage_id not in drawable or passage.graded & ~drawable[passage.passage_id]
    }
    return entries, passages


def rated_pairs(
    query: GradedQuery, tops: Sequence[Collection[int]], labels: Iterable[LabelledPair]
) -> RatedPairs:
    """The pairs of a query.

    ``labels``: The labels of people. Those of pairs without a grade of the judge do not count, because such
    pairs could not be drawn.
    """
    passages = sorted(set().union(*tops))
    members = np.array([[index in top for index in passages] for top in tops], dtype=bool)
    judged = np.full((len(query.entries), len(passages)), np.nan)
    for column, index in enumerate(passages):
        for grade, mask in query.passages[index].levels.items():
            judged[[entry for entry in range(len(judged)) if mask >> entry & 1], column] = grade
    people, probability = np.full(judged.shape, np.nan), np.ones(judged.shape)
    columns = {query.passages[index].passage_id: column for column, index in enumerate(passages)}
    known = {passage.passage_id for passage in query.passages}
    used, unknown = [], 0
    for pair in labels:
        entry, place = query.entries.get(pair.entry_id), columns.get(pair.passage_id)
        if entry is None or pair.passage_id not in known:
            unknown += 1
        elif place is not None and not np.isnan(judged[entry, place]):
            used.append(UsedLabel(int(judged[entry, place]), pair.label, pair.probability))
            people[entry, place], probability[entry, place] = pair.label, pair.probability
    return RatedPairs(judged, people, probability, members.reshape(len(tops), -1), used, unknown)


@dataclass(frozen=True)
class Weighting:
    """A measure on the pairs of a query.

    ``thresholds``: A value is 1 if the rating reaches the threshold. Empty: the value is the rating.
    """

    thresholds: tuple[int, ...]
    levels: tuple[float, ...]
    entries: tuple[float, ...]
    by_pair: bool = False

    def values(self, ratings: Floats) -> Floats:
        """Values of ratings, levels × entries × passages; 0 without a rating."""
        if not self.thresholds:
            return np.nan_to_num(ratings)[None]
        known = np.nan_to_num(ratings, nan=-np.inf)
        return np.array([known >= limit for limit in self.thresholds], dtype=float)


def groups_of(pairs: RatedPairs, weighting: Weighting, *, whole_entries: bool = False) -> PairGroups:
    """The groups of a measure: a group for each entry, or for each pair.

    With ``whole_entries``, all pairs of an entry were drawn together. The value of an entry is then the score
    of a system on it.
    """
    graded = ~np.isnan(pairs.judged).all(axis=0)
    labelled: Bools = np.asarray(~np.isnan(pairs.people))
    judged = weighting.values(pairs.judged)
    errors = np.where(np.isnan(pairs.people), 0.0, weighting.values(pairs.people) - judged)
    total = sum(weight for weight in weighting.entries if weight > 0)
    shares = np.array(weighting.entries) / total if total else np.zeros(len(weighting.entries))
    levels, members = np.array(weighting.levels), pairs.members
    if whole_entries:
        members = members & graded if weighting.by_pair else members
        by_judge, by_people = (
            _entry_scores(values, members, weighting.by_pair) for values in (judged, judged + errors)
        )
        systems = len(members)
        probability = np.repeat(pairs.probability.min(axis=1, initial=1.0)[:, None], systems, axis=1)
        own = np.eye(systems, dtype=bool)[:, None, :]
        weights = np.broadcast_to(shares, (systems, len(shares)))
        labelled = np.repeat(np.any(labelled, axis=1, keepdims=True), systems, axis=1)
        return PairGroups(by_judge, by_people - by_judge, probability, own, weights, levels, labelled, True)
    if not weighting.by_pair:
        weights = np.broadcast_to(shares, (len(members), len(shares)))
        probability, members = pairs.probability, members[:, None, :]
        return PairGroups(
            judged, errors, probability, members, weights, levels, labelled, ratings=pairs.judged
        )
    # Passages without any grade of the judge are not in the mean, because they could not be drawn.
    members = members & graded
    of_passage = members / np.maximum(members.sum(axis=1, keepdims=True), 1)
    repeated = np.repeat(members[:, None, :], len(shares), axis=1)
    return PairGroups(
        judged.reshape(len(levels), -1, 1),
        errors.reshape(len(levels), -1, 1),
        pairs.probability.reshape(-1, 1),
        repeated.reshape(len(members), -1, 1),
        (shares[:, None] * of_passage[:, None, :]).reshape(len(members), -1),
        levels,
        labelled.reshape(-1, 1),
        ratings=pairs.judged.reshape(-1, 1),
    )


def _entry_scores(values: Floats, members: Bools, by_pair: bool) -> Floats:
    """The score of each system on each entry, levels × entries × systems: its mean, or its best passage."""
    of_system = np.where(members, values[:, :, None, :], 0.0)
    if by_pair:
        means: Floats = of_system.sum(axis=-1) / np.maximum(members.sum(axis=-1), 1)
        return means
    best: Floats = of_system.max(axis=-1, initial=0.0)
    return best


def label_counts(pairs: RatedPairs, weighting: Weighting) -> Ints:
    """The labels on which each score depends, and those with another value than the grade; 2 × systems."""
    found = ~np.isnan(pairs.people)
    differs = (weighting.values(pairs.judged) != weighting.values(pairs.people)).any(axis=0)
    members = pairs.members[:, None, :]
    return np.array([(kind & members).sum(axis=(1, 2)) for kind in (found, found & differs)])
