"""Biases of a judge of games: place, length of the answer, own family, and the order of the answers.

A bias is a share of decided games that differs from one half. Queries are the units of the intervals and
tests, because games of a query are not independent.

Sources: Zheng et al., "Judging LLM-as-a-Judge with MT-Bench and Chatbot Arena", NeurIPS 2023, section 3.3
(position, verbosity and self-enhancement bias); Wang et al., "Large Language Models are not Fair Evaluators",
ACL 2024 (both orders).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.stats import binom

from exam_pp.defaults import CONFIDENCE
from exam_pp.games import Game
from exam_pp.metrics.bounded_mean import share_interval
from exam_pp.metrics.uncertainty import Interval
from exam_pp.roles import System

LENGTH_STEPS = (0.1, 0.25, 0.5, 1.0)
"""Upper limits of the difference in length, as a share of the longer answer."""

_BY_RULE = ("empty answer", "same text")


class Tally(NamedTuple):
    """Decided games of one query: how many were won by the side in question, and how many by the other."""

    won: int = 0
    lost: int = 0

    def plus(self, won: bool) -> Tally:
        """The tally after another game."""
        return Tally(self.won + won, self.lost + (not won))


class Orders(NamedTuple):
    """Pairs of answers that were compared in both orders, by what the two verdicts have in common."""

    same: int = 0
    first: int = 0
    second: int = 0
    one_tie: int = 0

    @property
    def flipped(self) -> int:
        """The pairs whose verdicts differ."""
        return self.reversed + self.one_tie

    @property
    def reversed(self) -> int:
        """The pairs in which the other answer wins if the places are swapped."""
        return self.first + self.second


@dataclass
class QueryTally:
    """Counts of the games of one query by one judge.

    ``ungraded``: Games without a verdict. ``by_rule``: Games that a rule decided without a judge: an empty
    answer, or the same text twice.
    """

    games: int = 0
    ungraded: int = 0
    by_rule: int = 0
    ties: int = 0
    place_a: Tally = field(default_factory=Tally)
    longer: list[Tally] = field(default_factory=lambda: [Tally()] * len(LENGTH_STEPS))
    own_family: Tally = field(default_factory=Tally)
    orders: Orders = field(default_factory=Orders)


@dataclass(frozen=True)
class Share:
    """A share of games or pairs.

    ``interval``: Confidence interval of the share; None without games, or if it was not asked for.
    ``p_value``: Two-sided p-value for the share one half; None if that is no sensible expectation.
    """

    count: int
    total: int
    interval: Interval | None = None
    p_value: float | None = None

    @property
    def share(self) -> float | None:
        """The share in 0..1; None without games."""
        return self.count / self.total if self.total else None


@dataclass(frozen=True)
class Biases:
    """The biases of a judge over all queries.

    ``ungraded``: Games without a verdict. ``by_rule``: Games that a rule decided without the judge.
    ``flipped``: Flip rate: the share of these pairs whose verdicts differ.
    """

    games: int
    ungraded: int
    by_rule: int
    ties: int
    place_a: Share
    longer: Share
    longer_by_difference: Sequence[Share]
    own_family: Share
    orders: Orders
    flipped: Share
    reversed: Share


def tally(games: Iterable[Game], is_own: Callable[[str], bool] | None = None) -> QueryTally:
    """Count the games of one query by one judge.

    ``is_own``: Whether a system belongs to the family of the judge. None: the judge has no family. Returns
    the counts. A game that a rule decided counts only as such. Two games of the same answers with swapped
    places are one pair in both orders.
    """
    counts = QueryTally()
    longer = counts.longer
    judged: list[Game] = []
    for game in games:
        counts.games += 1
        if game.decided_by in _BY_RULE:
            counts.by_rule += 1
            continue
        if game.winner is None:
            counts.ungraded += 1
            continue
        if game.decided_by != "ratings":
            judged.append(game)
        if game.winner == "C":
            counts.ties += 1
            continue
        a_won = game.winner == "A"
        if game.decided_by != "ratings":
            counts.place_a = counts.place_a.plus(a_won)
        if game.words_a is not None and game.words_b is not None and game.words_a != game.words_b:
            step = _length_step(game.words_a, game.words_b)
            longer[step] = longer[step].plus(a_won == (game.words_a > game.words_b))
        if is_own is not None and (own_a := is_own(game.system_a)) != is_own(game.system_b):
            counts.own_family = counts.own_family.plus(a_won == own_a)
    counts.orders = orders_of(judged)
    return counts


def _length_step(words_a: int, words_b: int) -> int:
    """Index of the first of :data:`LENGTH_STEPS` that is at least the difference."""
    difference = abs(words_a - words_b) / max(words_a, words_b)
    return next(index for index, limit in enumerate(LENGTH_STEPS) if difference <= limit)


def orders_of(games: Iterable[Game]) -> Orders:
    """Compare the verdicts of games of the same two answers with swapped places; others do not count."""
    by_answers: dict[frozenset[System], tuple[list[Game], list[Game]]] = {}
    for game in games:
        straight, swapped = by_answers.setdefault(game.pair, ([], []))
        (straight if game.a < game.b else swapped).append(game)
    counts = Counter(
        _orders_kind(first, second)
        for straight, swapped in by_answers.values()
        for first, second in zip(straight, swapped, strict=False)
    )
    return Orders(**counts)


def _orders_kind(first: Game, second: Game) -> str:
    verdicts = {first.winner, second.winner}
    if verdicts in ({"A", "B"}, {"C"}):
        return "same"
    if "C" in verdicts:
        return "one_tie"
    return "first" if verdicts == {"A"} else "second"


def biases(
    queries: Collection[QueryTally], *, intervals: bool = True, confidence: float = CONFIDENCE
) -> Biases:
    """Sum up the counts of all queries of a judge, with intervals and tests."""

    def share(tallies: Iterable[Tally], *, tested: bool = True) -> Share:
        return share_of(list(tallies), tested=tested, intervals=intervals, confidence=confidence)

    orders = [query.orders for query in queries]
    return Biases(
        sum(query.games for query in queries),
        sum(query.ungraded for query in queries),
        sum(query.by_rule for query in queries),
        sum(query.ties for query in queries),
        share(query.place_a for query in queries),
        share(Tally(*map(sum, zip(*query.longer, strict=True))) for query in queries),
        [share(query.longer[step] for query in queries) for step in range(len(LENGTH_STEPS))],
        share(query.own_family for query in queries),
        Orders(*(sum(column) for column in zip(*orders, strict=True))) if orders else Orders(),
        share((Tally(pairs.flipped, pairs.same) for pairs in orders), tested=False),
        share((Tally(pairs.reversed, sum(pairs) - pairs.reversed) for pairs in orders), tested=False),
    )


def share_of(
    tallies: Iterable[Tally],
    *,
    tested: bool = True,
    intervals: bool = True,
    confidence: float = CONFIDENCE,
) -> Share:
    """Share of won games over all queries, with its interval and, if ``tested``, its p-value.

    The interval is that of :func:`~exam_pp.metrics.bounded_mean.share_interval`, with queries as groups.
    """
    played = [query for query in tallies if sum(query)]
    won, lost = (sum(column) for column in zip(*played, strict=True)) if played else (0, 0)
    interval = None
    if intervals and played:
        counts = np.array(played, dtype=float)
        interval = Interval(*share_interval(counts[:, 0], counts.sum(axis=1), confidence))
    return Share(won, won + lost, interval, sign_flip_test(played) if tested and played else None)


def sign_flip_test(queries: Iterable[Tally]) -> float:
    """Exact two-sided p-value of the randomisation test for as many won as lost games.

    Under the null hypothesis, won and lost games of a query are exchangeable. With one decided game per query
    it is the sign test.

    >>> sign_flip_test([Tally(1, 0)] * 5), sign_flip_test([Tally(2, 0), Tally(0, 1)])
    (0.0625, 1.0)
    """
    differences = [won - lost for won, lost in queries]
    distribution = np.ones(1)
    for size, count in Counter(abs(difference) for difference in differences if difference).items():
        steps = np.zeros(2 * size * count + 1)
        steps[:: 2 * size] = binom.pmf(np.arange(count + 1), count, 0.5)
        distribution = np.convolve(distribution, steps)
    centre = len(distribution) // 2
    beyond = abs(sum(differences))
    if not beyond:
        return 1.0
    return min(1.0, float(2 * distribution[centre + beyond :].sum()))
