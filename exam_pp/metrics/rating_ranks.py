"""Ranks of systems by ratings that the queries support."""

from __future__ import annotations

import numpy as np
from scipy.stats import t

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.significance import closed, holm_matrix, rank_intervals

_SMALLEST_SPREAD = 1e-9
"""In points; smaller spreads and differences are rounding errors."""


def rating_ranks(
    ratings: Floats, samples: Floats, queries: int, confidence: float = CONFIDENCE
) -> list[tuple[int, int]]:
    """First and last rank of each system: 1 + systems shown better, to all systems − systems shown worse.

    A difference of two ratings is shown if it is too large for its spread in the samples, by Student's t with
    queries − 1 degrees of freedom and Holm's correction over all pairs. No p-value is below 2^(1 − queries),
    the smallest one of an exact test: equal outcomes on few queries show nothing.

    Source: Bazylik, Mogstad, Romano, Shaikh and Wilhelm, "Finite- and large-sample inference for ranks using
    multinomial data with an application to ranking political parties", arXiv:2402.00192 (2024).

    ``samples``: Ratings in bootstrap samples of the queries, samples × systems.
    """
    # Samples of n queries spread by √((n − 1) / n) too little.
    covariance = np.atleast_2d(np.cov(samples, rowvar=False, ddof=0)) * queries / (queries - 1)
    variances = np.diag(covariance)
    spread = np.sqrt(np.maximum(variances[:, None] + variances - 2 * covariance, 0.0))
    differences = (ratings[:, None] - ratings).round(9)
    scaled = np.abs(differences) / np.maximum(spread, _SMALLEST_SPREAD)
    p_values = np.maximum(2 * t.sf(scaled, queries - 1), 2.0 ** (1 - queries))
    shown = holm_matrix(p_values) <= 1 - confidence
    return rank_intervals(closed(shown & (differences > 0)))
