"""Choice of games: pairs of systems per query, their places and repeats."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from heapq import nsmallest
from itertools import combinations
from math import comb
from typing import Literal, NamedTuple

from exam_pp.pair_sample import draw
from exam_pp.roles import System

Pair = tuple[str, str]
"""Two systems, in the order of their names."""


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

    ``games_per_query``: Number of pairs to draw; None for all.
    """
    pairs = combinations(sorted(systems), 2)
    if games_per_query is None or games_per_query >= comb(len(systems), 2):
        return list(pairs)
    return sorted(nsmallest(games_per_query, pairs, key=lambda pair: draw(seed, "pair", query_id, *pair)))


def planned_games(
    pair: Pair, query_id: str, repeats: Mapping[str, Sequence[int | None]], seed: int, both_orders: bool
) -> list[PlannedGame]:
    """The games of a pair for a query: one with drawn places, or one in each order."""
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
