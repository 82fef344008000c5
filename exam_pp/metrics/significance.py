"""Significance of differences of systems: randomisation and t tests, Holm, letters, ranks of ratings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, log2
from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri, stdtr, stdtrit

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.measures import Range, range_of_differences
from exam_pp.metrics.uncertainty import Interval, mean_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_TOLERANCE = 1e-12
"""Means that differ by less are equal, so that rounding errors do not decide whether a resample is as extreme
as the observation."""

_TIE_DECIMALS = 12
"""Means are rounded to this number of decimals, so that rounding errors do not order them."""

_BLOCK = 100
"""Maximum number of sign assignments per block; more do not fit into the cache for 60 systems."""
_CELLS = 10**7
"""Maximum number of signs per block, because of the memory."""

_BILLION = 10**9
_SMALLEST_EFFECT = 1e-6

_KURTOSIS_SAFETY = 1.5
"""Factor of the estimated kurtosis, which is too low on average for few queries."""
_FEWEST_FOR_RANGE = 10
"""Fewer differences other than 0 say too little about the largest possible spread."""

_REACHED = 1e-9
"""Statistics that differ by less are equal, so that rounding errors do not hide ties."""


def step_down_tests(values: Floats, *, samples: int = 10_000, alpha: float = 1.0, seed: int = 0) -> Floats:
    """Two-sided p-values of the differences of all pairs of systems, adjusted for their number.

    Step-down maxT of paired randomisation tests: under the null hypothesis the two scores on a query are
    exchangeable, so that signs of differences are flipped, on each query for all pairs at once. With T =
    |Σ d| / √Σ d², the adjusted p of the pair with the r-th largest T is the share of sign assignments whose
    largest T among the pairs from r on reaches it, and at least that of the pair before. If there are at most
    ``samples`` sign assignments, all are enumerated and p is exact; otherwise they are random and
    p = (1 + number that reach it) / (1 + samples).

    Source: Westfall and Young, "Resampling-Based Multiple Testing" (1993); Romano and Wolf, "Exact and
    approximate stepdown methods for multiple hypothesis testing", JASA 100 (2005); for pairs, Smucker, Allan
    and Carterette, "A comparison of statistical significance tests for information retrieval evaluation",
    CIKM 2007.

    Args:
        values: Systems × queries, without NaN.
        samples: Number of random sign assignments.
        alpha: Assignments stop as soon as all p-values are sure to be above it. They are then lower bounds.
        seed: Seed of the random ones.

    Returns:
        Systems × systems, symmetric, with 1 on the diagonal.
    """
    first, second = np.triu_indices(len(values), k=1)
    scaled = _scaled(values[first] - values[second])
    observed = np.abs(scaled.sum(axis=1))
    order = np.argsort(-observed, kind="stable")
    reached = np.zeros(len(order), dtype=np.int64)
    blocks, number, drawn = _assignments(values.shape[1], samples, seed)
    ascending, limits = scaled[order[::-1]], observed[order, None] - _REACHED
    for block in blocks:
        statistics = ascending @ block.T
        # In place, for new memory takes as long as the arithmetic.
        np.abs(statistics, out=statistics)
        np.maximum.accumulate(statistics, axis=0, out=statistics)
        reached += (statistics[::-1] >= limits).sum(axis=1)
        # The first p-value is the lowest one.
        if (reached[:1] + drawn > alpha * (number + drawn)).any():
            break
    adjusted = np.ones((len(values), len(values)))
    stepped = np.maximum.accumulate((reached + drawn) / (number + drawn))
    adjusted[first[order], second[order]] = adjusted[second[order], first[order]] = stepped
    return adjusted


def _scaled(differences: Floats) -> Floats:
    """Rows of differences by √Σ d²; those of equal systems are 0."""
    scale = np.sqrt((differences**2).sum(axis=1, keepdims=True))
    scaled: Floats = np.divide(differences, scale, out=np.zeros_like(differences), where=scale > _TOLERANCE)
    return scaled


def _assignments(queries: int, samples: int, seed: int) -> tuple[Iterator[Floats], int, int]:
    """All assignments of ±1, or random ones, in matrices of assignments × queries.

    Returns them, their number, and 1 if they are random, for the observed one.
    """
    rng = np.random.default_rng(seed)
    drawn = int(2**queries > samples)
    number = samples if drawn else 2**queries
    rows = max(1, min(_BLOCK, _CELLS // queries))
    blocks = (np.arange(start, min(start + rows, number)) for start in range(0, number, rows))
    bits = (
        rng.integers(0, 2, (len(block), queries)) if drawn else block[:, None] >> np.arange(queries) & 1
        for block in blocks
    )
    return (np.where(bit, 1.0, -1.0) for bit in bits), number, drawn


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted by Holm's step-down method, in the same order.

    Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
    Statistics 6 (1979).
    """
    raw = np.asarray(p_values, dtype=float)
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(p) for p in adjusted]


def paired_test(
    first: Sequence[float] | Floats, second: Sequence[float] | Floats, *, samples: int = 10_000, seed: int = 0
) -> float:
    """p-value of :func:`step_down_tests` for two lists of scores of the same queries."""
    values = np.array([first, second], dtype=float)
    return float(step_down_tests(values, samples=samples, seed=seed)[0, 1])


def difference_interval(
    differences: Sequence[float], confidence: float = CONFIDENCE, *, samples: int = 10_000, seed: int = 0
) -> Interval:
    """All mean differences that the randomisation test of :func:`paired_test` does not reject.

    It holds if the differences, less their mean, are symmetric; :func:`mean_interval` needs no such
    assumption. It excludes 0 if and only if the p-value is at most 1 − ``confidence``. A sign assignment
    rejects no value between the means of the differences with either sign, so the ends are quantiles of
    these means; without enough queries they are infinite.

    Source: Lehmann and Romano, "Testing Statistical Hypotheses" (2005), section 5.10 (inverted tests).
    """
    values = np.asarray(differences, dtype=float)
    blocks, number, drawn = _assignments(len(values), samples, seed)
    # The observed assignment has a single sign, so that it rejects nothing.
    lows, highs = [np.full(drawn, -np.inf)], [np.full(drawn, np.inf)]
    for block in blocks:
        positive = (block > 0).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            plus = np.where(block > 0, values, 0).sum(axis=1) / positive
            minus = np.where(block < 0, values, 0).sum(axis=1) / (len(values) - positive)
        single = (positive == 0) | (positive == len(values))
        lows.append(np.where(single, -np.inf, np.minimum(plus, minus)))
        highs.append(np.where(single, np.inf, np.maximum(plus, minus)))
    rank = int((number + drawn) * (1 - confidence) + _REACHED)
    low, high = np.sort(np.concatenate(lows))[rank], -np.sort(-np.concatenate(highs))[rank]
    return Interval(float(low) - _TOLERANCE, float(high) + _TOLERANCE)


def better(values: Floats, *, alpha: float = 0.05, seed: int = 0) -> NDArray[np.bool_]:
    """The pairs of systems of which one is shown to be better: row better than column.

    Pairs with an adjusted p-value of at most ``alpha`` (:func:`step_down_tests`) are in the order of their
    means. Then a system that is better than a second one, which is better than a third, is
    better than the third (:func:`closed`). This adds no claim that can be false if the others are true.

    With fewer queries than :func:`can_differ` asks for, nothing is shown.

    ``values``: Systems × queries, without NaN.
    """
    if not can_differ(*values.shape, alpha=alpha):
        return np.zeros((len(values), len(values)), dtype=np.bool_)
    p_values = step_down_tests(values, alpha=alpha, seed=seed)
    # The tests are two-sided, so the means give the direction.
    means = values.mean(axis=1).round(_TIE_DECIMALS)
    return closed((p_values <= alpha) & (means[:, None] > means))


def closed(relation: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The transitive closure of a relation of rows to columns.

    Source: Warshall, "A theorem on Boolean matrices", Journal of the ACM 9 (1962).
    """
    closure = np.array(relation, dtype=np.bool_)
    for between in range(len(closure)):
        closure |= np.outer(closure[:, between], closure[between])
    return closure


def rank_intervals(relation: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first and last rank that each system can have; rank 1 is best.

    The first is 1 plus the number of systems that are better, the last the number of all systems minus those
    that are worse. All intervals hold together unless a difference is wrong.

    Source: Mogstad, Romano, Shaikh and Wilhelm, "Inference for ranks with applications to mobility across
    neighbourhoods and academic achievement across countries", Review of Economic Studies 91 (2024).
    """
    above, below = relation.sum(axis=0), relation.sum(axis=1)
    return [(1 + int(b), len(relation) - int(w)) for b, w in zip(above, below, strict=True)]


def letters(relation: NDArray[np.bool_]) -> list[str]:
    """Return the letters of each system: two systems share a letter if and only if neither is better.

    Letters follow the order of the systems, which is best first.

    Source: Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons",
    Journal of Computational and Graphical Statistics 13 (2004); few letters by a greedy cover of the pairs,
    as Gramm et al., "Algorithms for compact letter displays", Computational Statistics & Data Analysis 52
    (2007).
    """
    different = relation | relation.T
    count = len(different)
    groups: list[list[int]] = []
    missing = ~different  # pairs that still need a letter in common
    for first in range(count):
        # Start with the most distant pair: systems in between mostly fit into its group.
        for last in range(count - 1, first - 1, -1):
            if missing[first, last] and (last > first or not any(first in group for group in groups)):
                group = list(dict.fromkeys([first, last]))
                for system in (*range(first, last), *range(count)):
                    if system not in group and not different[system, group].any():
                        group.append(system)
                missing[np.ix_(group, group)] = False
                groups.append(group)
    named = sorted(map(sorted, groups))
    return [
        "".join(_letter(k) for k, group in enumerate(named) if system in group) for system in range(count)
    ]


def _letter(index: int) -> str:
    """a to z, then (aa), (ab) ...; the brackets distinguish (ab) from the two letters a and b."""
    name = ""
    rest = index
    while rest >= 0:
        name = ascii_lowercase[rest % 26] + name
        rest = rest // 26 - 1
    return name if len(name) == 1 else f"({name})"


def fewest_to_differ(systems: int, *, alpha: float = 0.05) -> int:
    """The smallest number of queries on which :func:`better` can show a difference between so many systems.

    The smallest p-value of a randomisation test on n queries is 2^(1 − n). With fewer queries than those on
    which it is at most α for as many independent tests as there are pairs, equal means of which one side
    breaks rarely would pass for a difference. Two systems need 6 queries for α = 0.05, ten systems 11.
    """
    pairs = max(1, systems * (systems - 1) // 2)
    return ceil(1 + log2(pairs / alpha) - _REACHED)


def can_differ(systems: int, queries: int, *, alpha: float = 0.05) -> bool:
    """Whether there are enough queries for a difference; see :func:`fewest_to_differ`."""
    return queries >= fewest_to_differ(systems, alpha=alpha)


class QueriesNeeded(NamedTuple):
    """Number of queries on which a t-test detects a difference; a range, as the spread is an estimate.

    ``high``: The same at its high end; None if fewer than 10 differences are not 0, or if it is above a
    billion.
    """

    queries: int
    low: int
    high: int | None


def queries_to_detect_range(
    difference: float, drops: ArrayLike, *, tail: float = 0.025, power: float = 0.8
) -> QueriesNeeded | None:
    """The number of queries to detect a mean difference that the user names; not the observed one.

    Power calculations at the observed difference say nothing (Hoenig and Heisey, "The abuse of power", The
    American Statistician 55, 2001).

    The number is the smallest n with n ≥ ((t at 1 − ``tail`` + t at ``power``) · spread / difference)², where
    t is the quantile with n − 1 degrees of freedom.

    Source: the interval of the spread is after Bonett, "Approximate confidence interval for standard
    deviation of nonnormal distributions", Computational Statistics & Data Analysis 50 (2006), with a safety
    factor from simulations for the kurtosis.

    Returns the numbers; None if all differences are equal, because their spread is unknown then, or if more
    than a billion queries are needed.
    """
    differences = np.asarray(drops, dtype=float)
    count = len(differences)
    if count < 2 or not np.ptp(differences):
        return None
    deviations = differences - differences.mean()
    scale = float(np.abs(deviations).max())
    squares = (deviations / scale) ** 2
    spread = float(np.sqrt(squares.sum() / (count - 1)))
    kurtosis = count * float((squares**2).sum()) / float(squares.sum()) ** 2
    at_least = 2 * count / (count - 1)
    freedom = max(1.0, 2 * count / max(_KURTOSIS_SAFETY * kurtosis - (count - 3) / (count - 1), at_least))

    def needed(factor: float) -> int | None:
        return queries_for_effect(difference / scale / (factor * spread), tail, power)

    queries, low, high = (
        needed(1.0),
        *(needed(float(np.sqrt(freedom / (2 * gammaincinv(freedom / 2, share))))) for share in (0.9, 0.1)),
    )
    if queries is None or low is None:
        return None
    return QueriesNeeded(queries, low, high if np.count_nonzero(differences) >= _FEWEST_FOR_RANGE else None)


def queries_for_effect(effect: float, tail: float, power: float) -> int | None:
    """The number of queries to detect a mean of so many standard deviations; None above a billion.

    The formula is that of :func:`queries_to_detect_range`.
    """
    if effect < _SMALLEST_EFFECT:
        return None
    # Quantiles of t are above those of the normal distribution, so that this many are needed at least.
    queries = max(2, ceil((float(ndtri(power) - ndtri(tail)) / effect) ** 2))
    while (
        queries <= _BILLION
        and queries < (float(stdtrit(queries - 1, power) - stdtrit(queries - 1, tail)) / effect) ** 2
    ):
        queries += 1
    return queries if queries <= _BILLION else None


class PairedTests(NamedTuple):
    """Tests of whether two systems differ in their mean score over the same queries; both are two-sided.

    ``second``: Mean of the second system. ``interval`` of the mean difference needs no assumption,
    ``test_interval`` is that of the randomisation test (:func:`difference_interval`). ``t``: Statistic of the
    t test with ``queries`` − 1 degrees of freedom, ``t_p_value`` its p-value; None if all differences are
    equal.
    """

    queries: int
    first: float
    second: float
    interval: Interval | None
    test_interval: Interval
    t: float | None
    t_p_value: float | None
    p_value: float

    @property
    def difference(self) -> float:
        """Mean of the first system minus that of the second."""
        return self.first - self.second


def paired_tests(
    first: Sequence[float],
    second: Sequence[float],
    bounds: Range | None,
    *,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> PairedTests:
    """Test two systems by their scores on the same queries; at least one query is needed.

    The randomisation test is exact for up to 13 queries; for more it draws 10,000 sign assignments
    (:func:`step_down_tests`).

    Source: Student, "The probable error of a mean", Biometrika 6 (1908); equals scipy.stats.ttest_rel.

    ``second``: Scores of the second system, in the same order of queries. ``bounds``: The lowest and highest
    possible score; None if they are unknown.
    """
    differences = [a - b for a, b in zip(first, second, strict=True)]
    statistic = p_value = None
    if len(set(differences)) > 1:
        from scipy.stats import ttest_rel  # noqa: PLC0415 - slow to import

        result = ttest_rel(first, second)
        statistic, p_value = float(result.statistic), float(result.pvalue)
    return PairedTests(
        len(differences),
        float(np.mean(first)),
        float(np.mean(second)),
        mean_interval(differences, range_of_differences(bounds), confidence),
        difference_interval(differences, confidence, seed=seed),
        statistic,
        p_value,
        paired_test(first, second, seed=seed),
    )


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
    p_values = np.maximum(2 * stdtr(queries - 1, -scaled), 2.0 ** (1 - queries))
    first, second = np.triu_indices(len(ratings), k=1)
    p_values[first, second] = p_values[second, first] = holm(p_values[first, second].tolist())
    shown = p_values <= 1 - confidence
    return rank_intervals(closed(shown & (differences > 0)))
