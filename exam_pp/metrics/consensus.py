"""Consensus of several graders: mean, median and majority of ratings, with tie rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

ConsensusRule = Literal["mean", "median", "majority"]

K = TypeVar("K", bound=Hashable)


def mean(ratings: Sequence[int]) -> int:
    """The arithmetic mean, rounded to the nearest integer; halves are rounded down."""
    count = len(ratings)
    return -((count - 2 * sum(ratings)) // (2 * count))


def median(ratings: Sequence[int]) -> int:
    """The median; of an even number of ratings, the lower of the two in the middle."""
    return sorted(ratings)[(len(ratings) - 1) // 2]


def majority(ratings: Sequence[int]) -> int:
    """The most frequent rating; of several equally frequent ones, the lowest."""
    counts = Counter(ratings)
    most = max(counts.values())
    return min(rating for rating, count in counts.items() if count == most)


RULES: Mapping[ConsensusRule, Callable[[Sequence[int]], int]] = {
    "mean": mean,
    "median": median,
    "majority": majority,
}
"""Rule to its function. All rules resolve ties downwards, so that a doubtful pair is not covered."""


def consensus_ratings(
    graders: Iterable[Mapping[K, int]], rule: ConsensusRule, min_graders: int = 1
) -> dict[K, int]:
    """The consensus of several graders on every item that enough of them rated.

    ``graders``: The ratings of each grader by item. An item without a rating of a grader has no vote of it.
    """
    votes: dict[K, list[int]] = {}
    for ratings in graders:
        for item, rating in ratings.items():
            votes.setdefault(item, []).append(rating)
    combine = RULES[rule]
    return {item: combine(of_item) for item, of_item in votes.items() if len(of_item) >= min_graders}
