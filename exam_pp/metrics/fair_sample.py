"""Fair samples of people's ratings: the order in which entries are drawn, the looks, and the estimates.

In each query all entries have one random order, and people rate what every system has for the first of them.
So nobody chooses what is checked, and the estimates are unbiased however good the judge is. The scores may be
looked at after fixed numbers of entries, each look at its share of the error, so that stopping when the
leaderboard pleases deceives nobody.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.grade_masks import GradedQuery
from exam_pp.metrics.measures import Measure, Weights, union

_FEWEST = 5
"""Ratings from which the mean rating of a judge's value is taken by itself."""


def sample_order(query_id: str, entry_ids: Iterable[str], seed: int = 0) -> list[str]:
    """The entries of a query in the order in which people rate them."""
    return sorted(entry_ids, key=lambda entry_id: draw(seed, "fair sample", query_id, entry_id))


def looks(entries: int) -> list[int]:
    """The numbers of entries of each query after which scores may be looked at: 1, 2, 3, 5, 8 ... all."""
    numbers, following = [1], 2
    while numbers[-1] < entries:
        numbers.append(min(following, entries))
        following += numbers[-2]
    return numbers


@dataclass(frozen=True)
class DecidedUnits:
    """What a query's entries are worth for each system by the judge and by people, in the sample's order.

    ``judged`` and ``people`` have systems × entries; an entry that people have not decided is NaN.
    ``weights`` are those of the entries. ``checked`` has, for each system, how many of the pairs behind its
    score people rated, and the number of these pairs.
    """

    query_id: str
    weights: Floats
    judged: Floats
    people: Floats
    checked: NDArray[np.int64]

    @classmethod
    def drawn(
        cls,
        query_id: str,
        entries: Sequence[str],
        weights: Sequence[float],
        judged: ArrayLike,
        people: ArrayLike,
        checked: Sequence[tuple[int, int]],
    ) -> DecidedUnits:
        """Units in the order of ``entries``, without those that have no weight."""
        positions = {entry: position for position, entry in enumerate(entries) if weights[position]}
        order = [positions[entry] for entry in sample_order(query_id, entries) if entry in positions]
        return cls(
            query_id,
            np.array(weights)[order],
            np.array(judged, dtype=float)[:, order],
            np.array(people, dtype=float)[:, order],
            np.array(checked),
        )

    @classmethod
    def of_query(
        cls,
        query: GradedQuery,
        alone: GradedQuery,
        entries: Sequence[str],
        weights: Weights,
        measure: Measure,
        ranks: Mapping[str, int],
        cutoff: int,
    ) -> DecidedUnits:
        """What a measure finds in the entries of a query, and in the same grades of the judge ``alone``.

        An entry is decided for a system if a person gave it full credit in a passage within the cutoff, or
        people rated it in all of these. ``entries`` are the ids, ``ranks`` the first rank of each system.
        Groups of entries are not drawn.
        """
        grades = measure.grades
        places = [alone.entries.get(entry, len(alone.entries)) for entry in query.entries]
        judged, people, checked = [], [], []
        for system, first_rank in ranks.items():
            top = query.top(system, first_rank, cutoff)
            found = query.found(top, grades, by_people=True)
            rated = [query.passages[index].by_people for index in top]
            open_ = union(query.all_entries & ~of for of in rated) & ~found[max(grades)]
            people.append(
                [
                    np.nan if open_ >> position & 1 else measure.credit(found, position)
                    for position in query.entries.values()
                ]
            )
            by_judge = alone.found(alone.top(system, first_rank, cutoff), grades)
            judged.append([measure.credit(by_judge, place) for place in places])
            texts = [query.passages[index].by_people for index in top if index not in query.without_text]
            checked.append((sum(map(int.bit_count, texts)), len(texts) * len(entries)))
        of_entries = weights.of_entries or [1.0] * len(entries)
        return cls.drawn(query.query_id, entries, of_entries, judged, people, checked)


def complete_look(units: Sequence[DecidedUnits]) -> int:
    """The number of entries at the last look that people completed in every query; 0 if they have none."""
    decided = [np.isfinite(query.people).all(axis=0) for query in units]
    first_open = min((int(each.argmin()) for each in decided if not each.all()), default=sys.maxsize)
    numbers = looks(max((len(query.weights) for query in units), default=1))
    return max((entries for entries in numbers if entries <= first_open), default=0)


def sample_scores(units: Sequence[DecidedUnits], entries: int) -> Floats:
    """Unbiased scores of all systems, systems × queries, from people's first entries of each query.

    The mean over all entries of what people find, on average, where the judge has a value; plus the mean
    over the sample of what people find beside this. A score can lie outside the range of the measure.
    Source: the regression estimator of survey sampling (Särndal, Swensson and Wretman, "Model Assisted Survey
    Sampling", 1992, chapter 6), with equal shares of all queries and systems.
    """
    rated = np.concatenate([query.people[:, :entries].ravel() for query in units])
    judged = np.concatenate([query.judged[:, :entries].ravel() for query in units])
    expected = {
        value: rated[judged == value].mean()
        for value in np.unique(judged)
        if (judged == value).sum() >= _FEWEST
    }
    scores = []
    for query in units:
        predicted = np.vectorize(lambda value: expected.get(value, rated.mean()), otypes=[float])(
            query.judged
        )
        beside = query.weights * (query.people - predicted)
        drawn = beside[:, :entries].mean(axis=1) * len(query.weights)
        scores.append(((query.weights * predicted).sum(axis=1) + drawn) / query.weights.clip(min=0).sum())
    return np.stack(scores, axis=1)


def level(units: Sequence[DecidedUnits], entries: int, alpha: float) -> float:
    """The error that claims may have after this number of entries, so that all looks together keep ``alpha``.

    The last look, when everything is decided, has one half, and the earlier ones share the other.
    """
    numbers = looks(max(len(query.weights) for query in units))
    if len(numbers) == 1:
        return alpha
    return alpha / 2 if entries == numbers[-1] else alpha / 2 / (len(numbers) - 1)


def draw(seed: int, *names: object) -> float:
    """A number from 0 to 1 that depends only on the seed and the names.

    So a draw for a query is the same in every shard, in every order of the file, and with further systems.
    """
    data = json.dumps([seed, *names]).encode()
    return int.from_bytes(hashlib.sha256(data).digest()[:8], "big") / 2**64
