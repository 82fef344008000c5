"""Outcomes of games between systems as arrays, and their counts by query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from exam_pp.grade_filter import GradeKey
from exam_pp.metrics.entry_values import Floats, Ints
from exam_pp.metrics.uncertainty import enough_samples


class Outcome(NamedTuple):
    """The outcome of a played game; ungraded games have none."""

    query_id: str
    system_a: str
    system_b: str
    score: float
    judge: GradeKey


@dataclass(frozen=True)
class Outcomes:
    """Outcomes by column: numbers of query and systems, and the score of system a, of every game."""

    systems: list[str]
    query_ids: list[str]
    query: Ints
    a: Ints
    b: Ints
    score: Floats

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Outcomes:
        """The columns of outcomes."""
        systems: dict[str, int] = {}
        queries: dict[str, int] = {}
        rows = [
            (
                queries.setdefault(game.query_id, len(queries)),
                systems.setdefault(game.system_a, len(systems)),
                systems.setdefault(game.system_b, len(systems)),
            )
            for game in outcomes
        ]
        numbers = np.array(rows, dtype=np.int64).reshape(-1, 3)
        score = np.array([game.score for game in outcomes], dtype=float)
        query, a, b = np.ascontiguousarray(numbers.T)
        return cls(list(systems), list(queries), query, a, b, score)

    def __len__(self) -> int:
        return len(self.score)

    def wins(self) -> Floats:
        """Numbers of wins, systems × systems: of the row's system against the column's."""
        counts = np.zeros((len(self.systems), len(self.systems)))
        for winner, loser, of_winner in ((self.a, self.b, 1.0), (self.b, self.a, 0.0)):
            won = self.score == of_winner
            np.add.at(counts, (winner[won], loser[won]), 1)
        return counts

    def ties(self) -> Floats:
        """Numbers of ties, systems × systems, symmetric."""
        counts = np.zeros((len(self.systems), len(self.systems)))
        tied = self.score == 0.5
        for row, column in ((self.a, self.b), (self.b, self.a)):
            np.add.at(counts, (row[tied], column[tied]), 1)
        return counts

    def half_wins(self) -> Floats:
        """Numbers of wins with ties as half wins of both, as :meth:`wins`."""
        return self.wins() + self.ties() / 2

    def half_wins_by_query(self) -> sparse.csr_array:
        """The half wins of each query, queries × (systems × systems) in a single dimension.

        Most systems do not meet on a query, so the matrix is sparse.
        """
        size = len(self.systems)
        cells = np.concatenate([self.a * size + self.b, self.b * size + self.a])
        wins = np.concatenate([self.score, 1 - self.score])
        places = np.concatenate([self.query, self.query]), cells
        return sparse.coo_array((wins, places), shape=(len(self.query_ids), size**2)).tocsr()

    def groups(self) -> list[list[str]]:
        """The systems that are connected by games, directly or through other systems."""
        games = sparse.coo_array((np.ones(len(self)), (self.a, self.b)), shape=(len(self.systems),) * 2)
        number, group_of = connected_components(games, directed=False)
        return [
            [system for system, of in zip(self.systems, group_of, strict=True) if of == group]
            for group in range(number)
        ]


@lru_cache(maxsize=2)
def query_counts(queries: int, samples: int, seed: int) -> Ints:
    """How often each query is in each bootstrap sample of the queries, samples × queries.

    Few queries have more than ``samples``, see :func:`~exam_pp.metrics.uncertainty.enough_samples`.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993).
    """
    size = enough_samples(queries, samples)
    drawn = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=size)
    drawn.flags.writeable = False  # the next caller gets the same array
    return drawn
