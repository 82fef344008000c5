"""Ratings by games, and in bootstrap samples of the queries: Elo over many tournaments, and Bradley-Terry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, log

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from exam_pp.metrics.entry_values import Floats, Ints
from exam_pp.plugins.games import ELO_K, ELO_START, TOURNAMENTS
from exam_pp.plugins.games.outcomes import Outcomes

_SCALE = log(10) / 400
_CELLS = 10_000_000
"""Maximum number of games in the tournaments that are played at a time, which limits the memory."""
_BUDGET = 40_000_000
"""Number of games in all bootstrap samples together, within the limits of :data:`_ORDERS`."""
_ORDERS = (4, 40)
"""Lowest and highest number of tournaments of a bootstrap sample."""
_SETTLING = 20
"""Games of a system, divided by K × :data:`_SCALE`, after which the first rating has no effect any more."""


@dataclass(frozen=True)
class EloRules:
    """The rules of a tournament."""

    k: float = ELO_K
    start: float = ELO_START
    integer: bool = False


def elo(
    outcomes: Outcomes,
    rules: EloRules | None = None,
    *,
    tournaments: int = TOURNAMENTS,
    seed: int = 0,
) -> Floats:
    """Final Elo ratings of tournaments that play all games in random orders, tournaments × systems.

    The expected score of system a against b is E = 1 / (1 + 10^((R_b - R_a) / 400)). After a game with score
    S, a gains K (S - E), and b loses it. All tournaments are played side by side, one game after the other.
    The library evalica (0.4.2) plays one tournament in the given order, and does not truncate.

    Args:
        outcomes: The games.
        rules: K, the first rating and truncation. None: 32, 1000, floats.
        tournaments: Number of tournaments.
        seed: Seed of the orders.

    Returns:
        A row for each tournament; the mean of its columns is the rating, their standard deviation the
        spread that is due to the order.

    Source: Elo, "The Rating of Chessplayers, Past and Present" (1978); Rackauckas et al., "Evaluating
    RAG-Fusion with RAGElo" (2024), table 6, for the mean over 500 tournaments.
    """
    rng = np.random.default_rng(seed)
    rules = rules or EloRules()
    games = np.arange(len(outcomes), dtype=np.int32)
    size = max(1, _CELLS // max(1, len(games)))
    return np.concatenate(
        [
            _play(outcomes, _shuffled(np.tile(games, (min(size, tournaments - first), 1)), rng), rules)
            for first in range(0, tournaments, size)
        ]
    )


def elo_samples(
    outcomes: Outcomes, counts: Ints, ratings: Floats, rules: EloRules | None = None, *, seed: int = 0
) -> Floats:
    """Elo ratings in bootstrap samples of the queries, samples × systems.

    A rating is the mean over hundreds of tournaments, but a sample can only afford a few, so that its mean
    has a spread from the choice of queries and another from the order of games. The intervals need the first
    alone. Ratings are therefore averaged over the games of a tournament, too, once they have settled (about
    110 games of a system for K = 32), and the spread that is left from the order is estimated between the
    tournaments of a sample and removed: deviations shrink to the spread that is due to the queries.

    Source: Sun, Apley and Staum, "Efficient nested simulation for estimating the variance of a conditional
    expectation", Operations Research 59 (2011), for the two variances.

    ``counts``: How often each query is in each sample, samples × queries. Returns ratings. A system without
    games in a sample has its rating from all games.
    """
    rng = np.random.default_rng(seed)
    rules = rules or EloRules()
    low, high = _ORDERS
    orders = int(np.clip(_BUDGET // max(1, len(counts) * len(outcomes)), low, high))
    blocks = [
        (block.mean(axis=1), block.var(axis=1, ddof=1))
        for block in _sampled(outcomes, counts, orders, rules, rng)
    ]
    means, variances = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    means[~_with_games(outcomes, counts)] = np.nan
    deviations = means - np.nanmean(means, axis=0)
    spread = np.nanmean(deviations**2, axis=0)
    of_order = variances.mean(axis=0) / orders
    kept = np.divide(spread - of_order, spread, out=np.zeros_like(spread), where=spread > 0)
    return np.asarray(ratings + np.sqrt(np.maximum(kept, 0.0)) * np.nan_to_num(deviations))


def errors_of_mean(tournaments: Floats, samples: int, *, seed: int = 0) -> Floats:
    """Deviations of the mean over tournaments in bootstrap samples of the tournaments, samples × systems.

    ``tournaments``: Ratings, tournaments × systems.
    """
    number = len(tournaments)
    rng = np.random.default_rng([seed, number])
    shares = rng.multinomial(number, np.full(number, 1 / number), size=samples) / number
    return np.asarray(shares @ tournaments - tournaments.mean(axis=0))


def _sampled(
    outcomes: Outcomes, counts: Ints, number: int, rules: EloRules, rng: np.random.Generator
) -> Iterator[Floats]:
    """Ratings in ``number`` orders of each sample, samples × orders × systems, in blocks of samples."""
    games = np.arange(len(outcomes), dtype=np.int32)
    fewest = min(np.bincount(np.concatenate([outcomes.a, outcomes.b])).tolist())
    settled = float(np.ceil(_SETTLING / _SCALE / rules.k * len(games) / fewest))  # infinite for tiny K
    for block in np.array_split(counts, ceil(len(counts) * len(games) * number / _CELLS)):
        drawn = [np.repeat(games, sample[outcomes.query]) for sample in block]
        longest = max(map(len, drawn), default=0)
        orders = np.full((len(block), number, longest), len(games), dtype=np.int32)  # padded: no game
        for row, of_sample in enumerate(drawn):
            orders[row, :, : len(of_sample)] = of_sample
        ratings = _play(outcomes, _shuffled(orders.reshape(-1, longest), rng), rules, settled)
        yield ratings.reshape(len(block), number, -1)


def _with_games(outcomes: Outcomes, counts: Ints) -> NDArray[np.bool_]:
    """Whether each system has games in each sample, samples × systems."""
    plays = np.zeros((counts.shape[1], len(outcomes.systems)))
    plays[outcomes.query, outcomes.a] = plays[outcomes.query, outcomes.b] = 1
    return np.asarray(counts @ plays > 0)


def _shuffled(orders: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
    """Games × tournaments: every row of ``orders`` in a random order, as a column."""
    return np.ascontiguousarray(rng.permuted(orders, axis=1).T)


def _play(
    outcomes: Outcomes, orders: NDArray[np.int32], rules: EloRules, settled: float | None = None
) -> Floats:
    """Play a tournament for each column of ``orders``; a number beyond the last game is no game.

    Returns the final ratings, tournaments × systems; with ``settled``, their mean over the games after it.
    """
    columns, systems, last = orders.shape[1], len(outcomes.systems), len(orders)
    # No game is a tie of two artificial equal systems, which changes no rating.
    a = np.append(outcomes.a, systems) * columns
    b = np.append(outcomes.b, systems + 1) * columns
    gain = np.append(outcomes.score, 0.5) * rules.k
    ratings = np.full((systems + 2) * columns, float(rules.start))
    total, states = np.zeros_like(ratings), 0
    column = np.arange(columns)
    for number, games in enumerate(orders, start=1):
        place_a, place_b = a[games] + column, b[games] + column
        of_a, of_b = ratings[place_a], ratings[place_b]
        won = gain[games] - rules.k / (1.0 + np.exp(np.minimum((of_b - of_a) * _SCALE, 700.0)))
        of_a += won
        of_b -= won
        if rules.integer:
            np.trunc(of_a, out=of_a)
            np.trunc(of_b, out=of_b)
        ratings[place_a] = of_a
        ratings[place_b] = of_b
        if number == last or (settled is not None and number > settled and number % systems == 0):
            total += ratings
            states += 1
    return np.asarray((total / states).reshape(-1, columns)[:systems].T)


MEAN = 1000.0
"""Mean of the ratings of all systems."""
POINTS = 400 / log(10)
"""Points of a difference in the logarithm of the odds to win of 1."""
_MAX_STEP = 2.0
_TOLERANCE = 1e-9
_STEPS = 200
_TABLE_CELLS = 2_000_000
"""Maximum number of cells of the tables that are rated at a time, which limits the memory."""


def bradley_terry(wins: Floats) -> Floats:
    """Bradley-Terry ratings of one or several tables of wins, on the scale of Elo with mean 1000.

    The model is P(i beats j) = 1 / (1 + 10^((R_j - R_i) / 400)). The ratings maximise the likelihood, so the
    order of games has no effect. The maximum exists if a chain of wins or ties leads from every system to
    every other one. Otherwise (a system won or lost all its games, or two groups never met) every system
    gets an additional tie with an imaginary system of rating 1000.

    The library evalica (0.4.2) has the same ratings, as a test checks. It is not used,
    since it fits one table at a time, resamples games instead of queries, and gives all systems the same
    rating if there is no maximum.

    Source: Bradley and Terry, "Rank analysis of incomplete block designs", Biometrika 39 (1952); Ford,
    "Solution of a ranking problem from binary comparisons", American Mathematical Monthly 64 (1957), for
    the existence of the maximum; Caron and Doucet, "Efficient Bayesian inference for generalized
    Bradley-Terry models", Journal of Computational and Graphical Statistics 21 (2012), for a prior.

    ``wins``: Wins of the row's system against the column's, ... × systems × systems, with ties as half wins
    of both. Returns ratings, ... × systems.
    """
    systems = wins.shape[-1]
    tables = wins.reshape(-1, systems, systems)
    ties = np.where(has_maximum(tables), 0.0, 1.0)
    strengths = _newton(tables, ties)
    return np.asarray((MEAN + POINTS * strengths).reshape(wins.shape[:-1]))


def bradley_terry_samples(outcomes: Outcomes, counts: Ints) -> tuple[Floats, int]:
    """Bradley-Terry ratings in bootstrap samples of the queries.

    ``counts``: How often each query is in each sample, samples × queries. Returns ratings, samples × systems,
    and the number of samples whose likelihood has no maximum. A system without games in a sample has its
    rating from all games.
    """
    systems, by_query = len(outcomes.systems), outcomes.half_wins_by_query()
    of_all = bradley_terry(outcomes.half_wins())
    blocks, missing = [], 0
    for block in np.array_split(counts, ceil(len(counts) * systems**2 / _TABLE_CELLS)):
        tables = (sparse.csr_array(block.astype(float)) @ by_query).toarray().reshape(-1, systems, systems)
        with_games = (tables + tables.swapaxes(1, 2)).sum(axis=2) > 0
        blocks.append(np.where(with_games, bradley_terry(tables), of_all))
        missing += int(np.count_nonzero(~has_maximum(tables)))
    return np.concatenate(blocks), missing


def has_maximum(tables: Floats) -> NDArray[np.bool_]:
    """Whether the likelihood of each table of wins (tables × systems × systems) has a maximum."""
    return np.array([connected_components(table > 0, connection="strong")[0] == 1 for table in tables])


def _newton(tables: Floats, prior: Floats) -> Floats:
    """Strengths in natural logarithms with mean 0, by Newton's method for all tables at a time."""
    number, systems = tables.shape[:2]
    games = tables + tables.swapaxes(1, 2)
    won = tables.sum(axis=2)
    strengths = np.zeros((number, systems))
    diagonal = np.arange(systems)
    open_ = np.arange(number)
    for _ in range(_STEPS):
        now, weight = strengths[open_], prior[open_, None]
        expected = expit(now[:, :, None] - now[:, None, :])
        against_prior = expit(now)
        gradient = won[open_] - (games[open_] * expected).sum(axis=2) + weight * (0.5 - against_prior)
        curvature = games[open_] * expected * (1 - expected)
        # A constant in all cells fixes the mean, which the likelihood leaves open without a prior.
        hessian = np.where(weight[..., None] > 0, 0.0, 1.0 / systems) - curvature
        hessian[:, diagonal, diagonal] += curvature.sum(axis=2) + weight * against_prior * (1 - against_prior)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        size = np.abs(step).max(axis=1)
        strengths[open_] = now + step * np.minimum(1.0, _MAX_STEP / np.maximum(size, _TOLERANCE))[:, None]
        open_ = open_[size > _TOLERANCE]
        if not open_.size:
            break
    return np.asarray(strengths - strengths.mean(axis=1, keepdims=True))
