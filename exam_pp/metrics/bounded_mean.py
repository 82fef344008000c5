"""Confidence limits of the mean of scores with a known range, by Gaffke's bound.

The limit adds one unseen score at the far end of the range to the Bayesian bootstrap (Rubin 1981), so that
equal scores are not certain ones. For binary scores it is the interval of Clopper and Pearson.

Sources: Gaffke, "Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable", Mathematical Methods of Statistics 14 (2005); Learned-Miller and Thomas, "A new confidence interval
for the mean of a bounded random variable", arXiv:1905.06208 (2019). That the limits hold is proved for
special cases; for others no counterexample is known (docs/concepts/uncertainty.md names the tried laws).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.score_ranges import ROUNDING

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_NODES = 400
"""Enough for 5,000 different scores: limits of binary ones agree with Clopper and Pearson to 1e-7."""
_TINY = 1e-16


def cdf(values: ArrayLike, point: float) -> float:
    """P(D₁z₁ + … + Dₙzₙ ≤ ``point``) for weights D with the Dirichlet distribution of parameters 1.

    Weights are shares of exponential numbers Eᵢ, so this is P(ΣEᵢ(zᵢ − point) ≤ 0). The formula of Gil-Pelaez
    (Biometrika 38, 1951; Imhof, Biometrika 48, 1961) turns it into an integral over u from 0 to ∞. With
    u = tan θ it is over θ from 0 to π/2, and du/u = dθ/(sin θ cos θ).
    """
    return _cdf(*np.unique(np.asarray(values, dtype=float), return_counts=True), point)


def _cdf(numbers: Floats, counts: NDArray[np.int64], point: float) -> float:
    """:func:`cdf` of different numbers, in order, and how often each occurs."""
    if numbers[-1] <= point:
        return 1.0
    if numbers[0] >= point:
        return 0.0
    distances = numbers - point
    # The formula does not depend on the scale; unit length keeps the integrand within the range of the nodes.
    factors = np.ones((len(numbers), _NODES), dtype=complex)
    np.multiply.outer(distances / np.sqrt(counts @ distances**2), _nodes()[0], out=factors.imag)
    tied = counts > 1
    # The sizes of many factors overflow where the integrand is 0.
    with np.errstate(over="ignore", invalid="ignore"):
        factors[tied] **= counts[tied, None]
        # The sine of the sum of the angles of 1 + ciu, divided by the product of their sizes.
        integrand = (1 / factors.prod(axis=0)).imag
    integrand[np.isnan(integrand)] = 0.0
    return min(max(0.5 + float(_nodes()[1] @ integrand) / np.pi, 0.0), 1.0)


@cache
def _nodes() -> tuple[Floats, Floats]:
    """Values of u and weights of du/u."""
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    theta = (points + 1) * np.pi / 4
    return np.tan(theta), weights * np.pi / 4 / (np.sin(theta) * np.cos(theta))


def _quantile(probability: float) -> float:
    """Of the normal distribution, so that roots are found on almost a line; finite for 0 and 1."""
    return float(ndtri(min(max(probability, _TINY), 1 - _TINY)))


def upper(values: ArrayLike, top: float, tail: float) -> float:
    """Upper confidence limit of the mean of scores that are at most ``top``.

    ``tail``: The error probability, such as 0.025 for one end of a 95 % interval.
    """
    scores = np.asarray(values, dtype=float)
    if scores.max() > top + ROUNDING * max(1.0, abs(top)):
        raise ValueError(f"the score {scores.max()} is above {top}, the highest possible one")
    lowest = float(scores.min())
    # brentq needs ends with different signs.
    if lowest >= top:
        return top
    bounded = np.unique(np.append(np.minimum(scores, top), top), return_counts=True)
    limit = _quantile(1 - tail)
    return float(brentq(lambda point: _quantile(_cdf(*bounded, point)) - limit, lowest, top, xtol=1e-12))


def lower(values: ArrayLike, bottom: float, tail: float) -> float:
    """Lower confidence limit of the mean of scores of at least ``bottom``; the mirror of :func:`upper`."""
    # -upper(...) could be -0.0.
    return 0.0 - upper(np.negative(values), -bottom, tail)


def interval(
    values: ArrayLike, low: float, high: float, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Confidence interval of the mean of scores from ``low`` to ``high``; both ends have the same tail.

    Scores .2, .5 and .9 in [0, 1] give [.131037, .9].
    """
    tail = (1 - confidence) / 2
    return lower(values, low, tail), upper(values, high, tail)


def share_interval(
    parts: ArrayLike, wholes: ArrayLike, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Confidence interval of a share whose parts come in independent groups, such as games by query.

    If all groups are equally large, it is :func:`interval` of their shares from 0 to 1. Otherwise it contains
    the shares θ that the groups do not refute: the means of part − θ × whole are 0, and one more group, as
    large as the largest, has the share 1 for the upper limit and 0 for the lower one.
    """
    part, whole = np.asarray(parts, dtype=float), np.asarray(wholes, dtype=float)
    tail = (1 - confidence) / 2
    return 1 - _highest_share(whole - part, whole, tail), _highest_share(part, whole, tail)


def _highest_share(part: Floats, whole: Floats, tail: float) -> float:
    observed = float(part.sum() / whole.sum())
    if observed >= 1:
        return 1.0

    def excess(share: float) -> float:
        probability = cdf(np.append(part - share * whole, (1 - share) * whole.max()), 0.0)
        return _quantile(probability) - _quantile(1 - tail)

    return float(brentq(excess, observed, 1.0, xtol=1e-12))
