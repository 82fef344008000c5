"""Significance of differences of systems: randomisation and t tests, Holm, letters, ranks of ratings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from string import ascii_lowercase
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv, ndtri, stdtr, stdtrit

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.score_ranges import Range, range_of_differences
from exam_pp.metrics.uncertainty import Interval, mean_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


_TOLERANCE = 1e-12
"""Means that differ by less are equal, so that rounding errors do not decide whether a resample is as extreme
as the observation."""

_TIE_DECIMALS = 12
"""Means are rounded to this number of decimals, so that rounding errors do not order them."""

_BLOCK = 1000
"""Maximum number of sign assignments per block."""
_CELLS = 10**7
"""Maximum number of signs per block, because of the memory."""

_BILLION = 10**9
_SMALLEST_EFFECT = 1e-6

_KURTOSIS_SAFETY = 1.5
"""Factor of the estimated kurtosis, which is too low on average for few queries."""
_FEWEST_FOR_RANGE = 10
"""Fewer differences other than 0 say too little about the largest possible spread."""

_SMALL = 0.01
"""Only p-values below this get more samples when ``alpha`` is set."""


def randomisation_tests(
    values: Floats, *, samples: int = 10_000, alpha: float | None = None, seed: int = 0
) -> Floats:
    """Two-sided p-values of the paired randomisation test for all pairs of systems, systems × systems.

    ``values`` is systems × queries without NaN. Under the null hypothesis the two scores on a query are
    exchangeable, so the signs of the differences are flipped. If there are at most ``samples`` sign
    assignments, all are enumerated and p is exact; otherwise they are random and
    p = (1 + number at least as extreme) / (1 + samples). The diagonal is 1.

    A sampled p-value is never below 1 / (1 + samples), so correcting for many pairs needs many samples.
    With ``alpha``, pairs with a p-value below 0.01 therefore get 2 × pairs / alpha samples in total. A pair
    gets no more samples as soon as Holm's correction cannot make it significant, whatever they are.

    Source: Smucker, Allan and Carterette, "A comparison of statistical significance tests for
    information retrieval evaluation", CIKM 2007; equals scipy.stats.permutation_test(...,
    permutation_type="samples").
    """
    systems, queries = values.shape
    pairs = np.triu(np.ones((systems, systems), dtype=np.bool_), k=1)
    enough = samples if alpha is None else max(samples, ceil(2 * pairs.sum() / alpha))
    if 2**queries <= enough:
        p_values = _count_extreme(values, pairs, all_signs(queries)) / 2**queries
    else:
        p_values = _sampled(values, pairs, samples, enough, alpha, np.random.default_rng(seed))
    return np.where(pairs, p_values, np.where(pairs.T, p_values.T, 1.0))


def _sampled(
    values: Floats,
    pairs: NDArray[np.bool_],
    samples: int,
    enough: int,
    alpha: float | None,
    rng: np.random.Generator,
) -> Floats:
    """p-values of :func:`randomisation_tests` from ``samples`` or, for small ones, ``enough`` samples."""
    extreme, drawn = np.zeros(pairs.shape, dtype=np.int64), np.zeros(pairs.shape, dtype=np.int64)
    undecided = pairs
    for number in (samples, enough - samples):
        for block in random_signs(values.shape[1], number, rng):
            if not undecided.any():
                break
            extreme += _count_extreme(values, undecided, [block])
            drawn[undecided] += len(block)
            if alpha is not None:
                # A pair that is not small after ``samples`` keeps its p-value.
                least = (extreme + 1) / (samples + 1)
                least = np.where(least < _SMALL, (extreme + 1) / (enough + 1), least)
                # Significant pairs are undecided until the end, so their factors are at least this.
                undecided = undecided & (least * (pairs.sum() - undecided.sum() + 1) <= alpha)
        undecided = undecided & ((extreme + 1) / (samples + 1) < _SMALL)
    return (extreme + 1) / (drawn + 1)


def _count_extreme(values: Floats, pairs: NDArray[np.bool_], signs: Iterable[Floats]) -> NDArray[np.int64]:
    """For each pair, the number of sign assignments with a difference at least as large as observed."""
    # Differences stay the same, but rounding errors no longer hide ties of scores such as 10000.1.
    centred = values - values.mean(axis=0)
    totals = centred.sum(axis=1)
    # The tolerance is for means, and these are sums.
    observed = np.abs(totals - totals[:, None]) - _TOLERANCE * values.shape[1]
    extreme = np.zeros(pairs.shape, dtype=np.int64)
    partners = {row: np.flatnonzero(columns) for row, columns in enumerate(pairs) if columns.any()}
    for block in signs:
        # Flipping both scores flips their difference, so one product serves all pairs.
        flipped = centred @ block.T
        space = np.empty_like(flipped)  # used again, for new memory takes a fifth of the time
        for row, columns in partners.items():
            differences = np.take(flipped, columns, axis=0, out=space[: len(columns)], mode="clip")
            differences -= flipped[row]
            np.abs(differences, out=differences)
            is_extreme = differences >= observed[row, columns, None]
            # Sums of small integers are twice as fast as np.count_nonzero.
            extreme[row, columns] += is_extreme.view(np.uint8).sum(axis=1, dtype=np.uint16)
    return extreme


def all_signs(queries: int) -> Iterator[Floats]:
    """All assignments of ±1, in matrices of assignments × queries."""
    for start in range(0, 2**queries, _BLOCK):
        numbers = np.arange(start, min(start + _BLOCK, 2**queries))
        yield np.where(numbers[:, None] >> np.arange(queries) & 1, -1.0, 1.0)


def random_signs(queries: int, samples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Random assignments of ±1, in matrices of assignments × queries."""
    rows = max(1, min(_BLOCK, _CELLS // queries))
    for start in range(0, samples, rows):
        yield np.where(rng.integers(0, 2, (min(rows, samples - start), queries)), 1.0, -1.0)


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


def holm_matrix(p_values: Floats) -> Floats:
    """:func:`holm` over all pairs of a symmetric matrix."""
    first, second = np.triu_indices(len(p_values), k=1)
    adjusted = np.ones_like(p_values)
    adjusted[first, second] = adjusted[second, first] = holm(p_values[first, second].tolist())
    return adjusted


def paired_test(first: Sequence[float], second: Sequence[float]) -> float:
    """p-value of :func:`randomisation_tests` for two lists of scores of the same queries."""
    return float(randomisation_tests(np.array([first, second], dtype=float))[0, 1])


def better(values: Floats, *, alpha: float = 0.05, seed: int = 0) -> NDArray[np.bool_]:
    """The pairs of systems of which one is shown to be better: row better than column.

    Pairs with a p-value of at most ``alpha`` (:func:`randomisation_tests`, Holm's correction) are in the
    order of their means. Then a system that is better than a second one, which is better than a third, is
    better than the third (:func:`closed`). This adds no claim that can be false if the others are true.

    ``values``: Systems × queries, without NaN.
    """
    p_values = holm_matrix(randomisation_tests(values, alpha=alpha, seed=seed))
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


def can_differ(systems: int, queries: int, *, alpha: float = 0.05) -> bool:
    """Whether :func:`better` can show any difference between so many systems on so many queries.

    The smallest p-value of a randomisation test on n queries is 2^(1 − n), and Holm's correction multiplies
    it by the number of pairs. Two systems need 6 queries for α = 0.05, ten systems 11.
    """
    return bool(2.0 ** (1 - queries) * systems * (systems - 1) / 2 <= alpha)


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

    ``second``: Mean of the second system. ``t``: Statistic of the t test with ``queries`` − 1 degrees of
    freedom; None if all differences are equal. ``t_p_value``: p-value of the t test; None if all differences
    are equal.
    """

    queries: int
    first: float
    second: float
    interval: Interval | None
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
    (:func:`exam_pp.metrics.significance.randomisation_tests`).

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
        statistic,
        p_value,
        float(randomisation_tests(np.array([first, second], dtype=float), seed=seed)[0, 1]),
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
    shown = holm_matrix(p_values) <= 1 - confidence
    return rank_intervals(closed(shown & (differences > 0)))
