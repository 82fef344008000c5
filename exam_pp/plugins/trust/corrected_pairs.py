"""Grades of a judge and labels of people for a query, as the pairs from which corrected scores are made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from exam_pp.metrics.entry_values import Bools, Floats, Ints
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.pair_sample import Block
from exam_pp.plugins.trust.corrected_groups import PairGroups


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
