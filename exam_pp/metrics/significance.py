"""Which differences between systems are more than chance: paired randomisation tests, Holm, letters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import nct, t

from exam_pp.metrics.entry_values import Floats

_TOLERANCE = 1e-12
"""Differences of means that are closer are equal: a resample that ties the observation counts as extreme."""


def randomisation_tests(values: Floats, *, samples: int = 10_000, seed: int = 0) -> Floats:
    """Two-sided p-values of the paired randomisation test for every two systems, systems × systems.

    ``values`` is systems × queries without NaN. Under the null hypothesis the two scores on a query
    could be exchanged: the signs of the differences are flipped, all of them at once for up to 2^n ≤
    ``samples`` assignments (then p is exact), else in ``samples`` random ones, and
    p = (1 + as extreme) / (1 + samples). The diagonal is 1.

    Source: Smucker, Allan and Carterette, "A comparison of statistical significance tests for
    information retrieval evaluation", CIKM 2007; equals scipy.stats.permutation_test(...,
    permutation_type="samples"), for all pairs in one matrix product.
    """
    systems, queries = values.shape
    first, second = np.triu_indices(systems, k=1)
    differences = (values[first] - values[second]).T
    observed = np.abs(differences.sum(axis=0)) - _TOLERANCE * queries
    exact = 2**queries <= samples
    extreme = np.zeros(len(first), dtype=np.int64)
    for signs in _signs(queries, samples, exact, seed):
        extreme += (np.abs(signs @ differences) >= observed).sum(axis=0)
    p_values = np.ones((systems, systems))
    found = extreme / 2**queries if exact else (extreme + 1) / (samples + 1)
    p_values[first, second] = p_values[second, first] = found
    return p_values


def _signs(queries: int, samples: int, exact: bool, seed: int) -> list[Floats]:
    """Matrices of ±1, assignments × queries."""
    if exact:
        return [np.array(list(product((1.0, -1.0), repeat=queries)))]
    rng = np.random.default_rng(seed)
    sizes = [min(500, samples - start) for start in range(0, samples, 500)]
    return [rng.choice(np.array([-1.0, 1.0]), (size, queries)) for size in sizes]


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for their number by Holm's step-down method; never below the raw ones.

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


def paired_test(first: Sequence[float], second: Sequence[float], *, samples: int = 10_000) -> float:
    """p-value of :func:`randomisation_tests` for two lists of scores of the same queries."""
    return float(randomisation_tests(np.array([first, second], dtype=float), samples=samples)[0, 1])


def significant_pairs(values: Sequence[Sequence[float]], *, alpha: float = 0.05) -> set[tuple[int, int]]:
    """The pairs (larger index first) of rows that differ significantly after Holm's correction."""
    different = holm_matrix(randomisation_tests(np.array(values, dtype=float))) <= alpha
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(np.tril(different, k=-1)), strict=True)}


def letters(different: NDArray[np.bool_]) -> list[str]:
    """Letters for each system: two systems share one exactly if they are not significantly different.

    ``different`` is a symmetric matrix. Give systems best first: letters are named in that order.

    Source: Piepho, "An algorithm for a letter-based representation of all-pairwise comparisons",
    Journal of Computational and Graphical Statistics 13 (2004): insert and absorb.
    """
    count = len(different)
    groups = [frozenset(range(count))]
    for i, j in combinations(range(count), 2):
        if different[i, j]:
            split = {group - {drop} for group in groups if {i, j} <= group for drop in (i, j)}
            kept = {group for group in groups if not {i, j} <= group}
            groups = _absorbed(kept | split)
    named = sorted(groups, key=sorted)
    return [
        "".join(_letter(k) for k, group in enumerate(named) if system in group) for system in range(count)
    ]


def _absorbed(groups: set[frozenset[int]]) -> list[frozenset[int]]:
    return [group for group in groups if not any(group < other for other in groups)]


def _letter(index: int) -> str:
    """a to z, then (aa), (ab) ... in brackets, so that two letters are not read as two groups."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    if index < len(alphabet):
        return alphabet[index]
    return f"({alphabet[index // 26 - 1]}{alphabet[index % 26]})"


def minimum_detectable_difference(values: Floats, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """The true difference of two means that a paired t-test on these queries finds with that power.

    The spread is the median, over all pairs of systems, of the standard deviation of their differences.
    None for one system, or fewer than two queries.

    Source: Sakai, "Statistical reform in information retrieval?", SIGIR Forum 48 (2014); power of the
    t-test from the noncentral t distribution.
    """
    systems, queries = values.shape
    if systems < 2 or queries < 2:
        return None
    first, second = np.triu_indices(systems, k=1)
    spread = float(np.median((values[first] - values[second]).std(axis=1, ddof=1)))
    if not spread:
        return 0.0
    freedom = queries - 1
    critical = float(t.ppf(1 - alpha / 2, freedom))

    def missing(noncentrality: float) -> float:
        # The other tail adds less than 1e-4 at the powers that are of interest; far out, sf is NaN.
        return float(np.nan_to_num(nct.sf(critical, freedom, noncentrality), nan=1.0)) - power

    noncentrality = float(np.float64(brentq(missing, 0.0, 3 * critical + 10)))
    return float(noncentrality * spread / queries**0.5)
