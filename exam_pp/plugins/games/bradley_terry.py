"""Bradley-Terry ratings by maximum likelihood, with ties as half wins, on the scale of Elo."""

from __future__ import annotations

from math import ceil, log

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from exam_pp.metrics.entry_values import Floats, Ints
from exam_pp.plugins.games.outcomes import Outcomes

MEAN = 1000.0
"""Mean of the ratings of all systems."""
POINTS = 400 / log(10)
"""Points of a difference in the logarithm of the odds to win of 1."""
_MAX_STEP = 2.0
_TOLERANCE = 1e-9
_STEPS = 200
_CELLS = 2_000_000
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
    for block in np.array_split(counts, ceil(len(counts) * systems**2 / _CELLS)):
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
