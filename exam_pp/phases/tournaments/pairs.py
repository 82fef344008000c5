"""Choice of games: pairs of systems per query, their places and repeats, and the most informative pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush, nsmallest
from itertools import combinations
from math import comb
from typing import Literal, NamedTuple

from exam_pp.games import Game
from exam_pp.pair_sample import draw
from exam_pp.roles import System

Pair = tuple[str, str]
"""Two systems, in the order of their names."""

_PRIOR_TIES = 2.0


class PlannedGame(NamedTuple):
    """A game before it is played: the answers in place A and in place B.

    ``order`` is 1 or 2 if both orders are played; else None.
    """

    a: System
    b: System
    order: Literal[1, 2] | None = None

    @property
    def pair(self) -> Pair:
        """The two systems, by name."""
        first, second = sorted((self.a.name, self.b.name))
        return first, second


def drawn_pairs(
    systems: Collection[str], query_id: str, seed: int, games_per_query: int | None = None
) -> list[Pair]:
    """The pairs of systems that play for a query, by name.

    Args:
        systems: The systems that answered the query.
        query_id: The query.
        seed: Seed of the draw.
        games_per_query: Number of pairs to draw; None for all.

    Returns:
        All pairs, or a random selection of different pairs.
    """
    pairs = combinations(sorted(systems), 2)
    if games_per_query is None or games_per_query >= comb(len(systems), 2):
        return list(pairs)
    return sorted(nsmallest(games_per_query, pairs, key=lambda pair: draw(seed, "pair", query_id, *pair)))


def planned_games(
    pair: Pair, query_id: str, repeats: Mapping[str, Sequence[int | None]], seed: int, both_orders: bool
) -> list[PlannedGame]:
    """The games of a pair for a query: one with drawn places, or one in each order.

    Args:
        pair: The two systems.
        query_id: The query.
        repeats: System to its repeats with an answer to the query; one of them is drawn.
        seed: Seed of the draws.
        both_orders: Whether the answers are compared in both orders.

    Returns:
        One game, or two with ``order`` 1 and 2 that have the same answers.
    """
    first, second = (
        System(
            system, repeats[system][int(draw(seed, "repeat", query_id, *pair, system) * len(repeats[system]))]
        )
        for system in pair
    )
    if draw(seed, "place", query_id, *pair) < 0.5:
        first, second = second, first
    if both_orders:
        return [PlannedGame(first, second, 1), PlannedGame(second, first, 2)]
    return [PlannedGame(first, second)]


class PairSelector:
    """Wins and numbers of games of all pairs, and the choice of the next pairs.

    A pair is the more informative, the more open its next game is and the fewer games it has. So the pair
    with the highest p (1 - p) / (games + 1) comes first, where p is the probability of a win under the
    Bradley-Terry model of all games so far. New systems come first: their games are open and few. The rule
    is that of exam_pp; p (1 - p) is the Fisher information of a game (Bradley and Terry, 1952).
    """

    def __init__(self, systems: Iterable[str]) -> None:
        self.systems = sorted(systems)
        self._number = {system: number for number, system in enumerate(self.systems)}
        self._wins = [[0.0] * len(self.systems) for _ in self.systems]
        self._played: Counter[Pair] = Counter()

    def add(self, game: Game) -> None:
        """Count a game; an ungraded game has no winner, but counts as played."""
        if game.system_a in self._number and game.system_b in self._number:
            first, second = sorted((game.system_a, game.system_b))
            self._played[first, second] += 1
            if game.score is not None:
                a, b = self._number[game.system_a], self._number[game.system_b]
                self._wins[a][b] += game.score
                self._wins[b][a] += 1 - game.score

    def strengths(self) -> list[float]:
        """The strength of each system under the Bradley-Terry model, in the order of ``systems``.

        Every system has two more ties with a system of average strength, so that strengths exist for all
        results, and a system with few games stays close to the others. The geometric mean is 1.
        """
        import numpy as np  # noqa: PLC0415 - slow to import

        from exam_pp.metrics.bradley_terry import MEAN, POINTS, bradley_terry  # noqa: PLC0415

        ratings = bradley_terry(np.array(self._wins), prior=_PRIOR_TIES)
        return [float(value) for value in np.exp((ratings - MEAN) / POINTS)]

    def next_pairs(self, candidates: Mapping[Pair, int], count: int) -> list[Pair]:
        """The most informative pairs for the next games.

        Args:
            candidates: Pair to the number of its games that can still be played.
            count: Number of games.

        Returns:
            At most ``count`` pairs; a pair occurs once for each of its games.
        """
        strength = self.strengths()
        open_pairs = [
            (-self._openness(strength, pair) / (self._played[pair] + 1), pair, self._played[pair] + 1, left)
            for pair, left in candidates.items()
            if left
        ]
        heapify(open_pairs)
        chosen: list[Pair] = []
        while len(chosen) < count and open_pairs:
            gain, pair, games, left = heappop(open_pairs)
            chosen.append(pair)
            if left > 1:
                heappush(open_pairs, (gain * games / (games + 1), pair, games + 1, left - 1))
        return chosen

    def _openness(self, strength: Sequence[float], pair: Pair) -> float:
        first, second = (strength[self._number[system]] for system in pair)
        return first * second / (first + second) ** 2
