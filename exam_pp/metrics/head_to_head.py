"""Win matrices, and comparisons of two systems by their games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import binomtest

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics.bounded_mean import share_interval
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.outcomes import Outcomes
from exam_pp.metrics.significance import holm
from exam_pp.metrics.uncertainty import Interval


@dataclass(frozen=True)
class WinMatrix:
    """Shares of games that systems won against each other.

    ``shares``: Share of the games between row and column that the row's system won; NaN without games. The
    rest of both shares are ties.
    """

    systems: list[str]
    shares: Floats
    games: Floats

    @property
    def averages(self) -> list[float]:
        """The mean share of each row over the opponents that it met, at least one."""
        met = self.games > 0
        totals, opponents = np.nansum(self.shares, axis=1), met.sum(axis=1)
        return [float(mean) for mean in totals / opponents]

    def ordered(self, systems: Sequence[str]) -> WinMatrix:
        """The matrix of these systems, in this order."""
        places = [self.systems.index(system) for system in systems]
        cells = np.ix_(places, places)
        return WinMatrix(list(systems), self.shares[cells], self.games[cells])


def count_wins(outcomes: Outcomes) -> WinMatrix:
    """The win matrix of all games.

    Source: Rackauckas et al., "Evaluating RAG-Fusion with RAGElo" (2024), table 5.
    """
    wins, ties = outcomes.wins(), outcomes.ties()
    games = wins + wins.T + ties
    shares = np.divide(wins, games, out=np.full_like(wins, np.nan), where=games > 0)
    return WinMatrix(outcomes.systems, shares, games)


class HeadToHead(NamedTuple):
    """The games of two systems against each other.

    ``won_interval``: Interval of ``won`` over resampled queries; None for fewer than two queries.
    """

    system_a: str
    system_b: str
    games: int
    queries: int
    won: float
    lost: float
    tied: float
    won_interval: Interval
    lost_interval: Interval
    tied_interval: Interval
    p: float
    adjusted_p: float


def head_to_head(
    outcomes: Outcomes,
    pairs: Sequence[tuple[str, str]],
    *,
    confidence: float = CONFIDENCE,
) -> list[HeadToHead]:
    """Compare pairs of systems by their games against each other.

    A query counts in the sign test for the system that won more of its games; queries without a difference
    count for neither system. Intervals are those of
    :func:`~exam_pp.metrics.bounded_mean.share_interval`, with queries as groups.

    Source: sign test with ties dropped, as Conover, "Practical Nonparametric Statistics" (1999), section
    3.4; Holm's correction, see :func:`~exam_pp.metrics.significance.holm`.
    """
    rows = [_compare(outcomes, *pair, confidence) for pair in pairs]
    adjusted = holm([row.p for row in rows])
    return [row._replace(adjusted_p=p) for row, p in zip(rows, adjusted, strict=True)]


def _compare(outcomes: Outcomes, system_a: str, system_b: str, confidence: float) -> HeadToHead:
    first, second = outcomes.systems.index(system_a), outcomes.systems.index(system_b)
    forwards = (outcomes.a == first) & (outcomes.b == second)
    met = forwards | ((outcomes.a == second) & (outcomes.b == first))
    score = np.where(forwards, outcomes.score, 1 - outcomes.score)[met]
    _, query = np.unique(outcomes.query[met], return_inverse=True)
    counts = np.zeros((int(query.max()) + 1, 3))  # queries × won, lost, tied
    np.add.at(counts, (query, np.where(score == 1, 0, np.where(score == 0, 1, 2))), 1)
    won, lost, tied = (counts.sum(axis=0) / counts.sum()).tolist()
    of_won, of_lost, of_tied = (
        Interval(*share_interval(column, counts.sum(axis=1), confidence)) for column in counts.T
    )
    better, worse = (counts[:, 0] > counts[:, 1]).sum(), (counts[:, 0] < counts[:, 1]).sum()
    p = float(binomtest(int(better), int(better + worse)).pvalue) if better + worse else 1.0
    return HeadToHead(
        system_a, system_b, len(score), len(counts), won, lost, tied, of_won, of_lost, of_tied, p, p
    )
