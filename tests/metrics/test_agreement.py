"""Cohen's κ, weighted κ, Krippendorff's α, and the area under the ROC curve."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

from exam_pp.metrics.agreement import (
    area_under_curve,
    cohen_kappa,
    confusion_counts,
    kappa_interval,
    krippendorff_alpha,
    weighted_kappa,
)
from exam_pp.metrics.uncertainty import expanded_tail

GRADES = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40)


def spread(table: list[list[int]]) -> tuple[list[int], list[int]]:
    """A contingency table as two lists of grades."""
    pairs = [(i, j) for i, row in enumerate(table) for j, count in enumerate(row) for _ in range(count)]
    return [i for i, _ in pairs], [j for _, j in pairs]


def by_definition(first: list[int], second: list[int], power: int) -> float | None:
    """κ = 1 − Σ w·observed / Σ w·expected over all cells (Cohen 1968, formula 3)."""
    n = len(first)
    expected = sum(abs(i - j) ** power for i, j in product(first, second)) / n**2
    observed = sum(abs(i - j) ** power for i, j in zip(first, second, strict=True)) / n
    return None if expected == 0 else 1 - observed / expected


@given(GRADES, st.sampled_from([1, 2]))
def test_equals_the_definition(pairs: list[tuple[int, int]], power: int) -> None:
    first, second = [i for i, _ in pairs], [j for _, j in pairs]
    assert weighted_kappa(first, second, power=power) == pytest.approx(by_definition(first, second, power))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (weighted_kappa, ([], [])), (weighted_kappa, ([2, 2], [2, 2])),
        (cohen_kappa, ([[0, 0], [0, 0]],)), (cohen_kappa, ([[5, 0], [0, 0]],)),
        (area_under_curve, ([], [])), (area_under_curve, ([1, 2], [True, True])),
        (krippendorff_alpha, ([[1], [2]],)), (krippendorff_alpha, ([[3, 3], [3, 3]],)),
    ],
)  # fmt: skip
def test_undefined_figures_are_none(function: Callable[..., object], arguments: tuple[object, ...]) -> None:
    """One label or class alone, or no disagreement that chance could bring about."""
    assert function(*arguments) is None


@pytest.mark.parametrize("function", [weighted_kappa, area_under_curve])
def test_lists_of_different_lengths_raise(function: object) -> None:
    with pytest.raises(ValueError, match="length"):
        function([1, 2], [1])  # type: ignore[operator]


@pytest.mark.parametrize(
    ("scores", "area"),
    [([4, 3, 2, 1], 1), ([1, 2, 3, 4], 0), ([7, 7, 7, 7], 0.5), ([3, 2, 1, 2], 3.5 / 4)],
    ids=["perfect", "reversed", "constant", "three pairs in order and one tied"],
)
def test_area_is_the_share_of_ordered_pairs(scores: list[int], area: float) -> None:
    assert area_under_curve(scores, [True, True, False, False]) == area


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40))
def test_area_of_opposite_labels_adds_up_to_one(items: list[tuple[int, bool]]) -> None:
    scores, labels = [s for s, _ in items], [p for _, p in items]
    area = area_under_curve(scores, labels)
    other = area_under_curve(scores, [not p for p in labels])
    assert (area is None) == (other is None)
    if area is not None and other is not None:
        assert area + other == pytest.approx(1)


@pytest.mark.parametrize(
    ("counts", "kappa"),
    [([[998, 2377], [668, 7343]], 0.2488), ([[1211, 4095], [455, 5625]], 0.1604), ([[20, 5], [10, 15]], 0.4)],
    ids=["workbench, question", "workbench, nugget", "textbook"],
)
def test_published_counts(counts: list[list[int]], kappa: float) -> None:
    """Table 5 of the workbench paper, which prints .25 and .16; of two labels, weights change nothing."""
    assert cohen_kappa(counts) == pytest.approx(kappa, abs=5e-5)
    assert weighted_kappa(*spread(counts)) == pytest.approx(kappa, abs=5e-5)


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3))
def test_kappa_is_symmetric(counts: list[list[int]]) -> None:
    swapped = [list(column) for column in zip(*counts, strict=True)]
    assert cohen_kappa(counts) == pytest.approx(cohen_kappa(swapped))


def test_kappa_of_three_labels() -> None:
    """scikit-learn 1.9.1: cohen_kappa_score([0,0,1,1,2,2,2,0], [0,1,1,1,2,0,2,0]) is 0.627906976744186."""
    assert cohen_kappa([[2, 1, 0], [0, 2, 0], [1, 0, 2]]) == pytest.approx(0.627906976744186)


@pytest.mark.parametrize(
    ("tables", "exists"),
    [
        ([[[998, 2377], [668, 7343]]] * 12, False),
        ([[[998, 2377], [668, 7343]], [[9, 1], [2, 8]]] * 2, False),
        ([[[998, 2377], [668, 7343]], [[9, 1], [2, 8]]] * 3, True),
        ([[[5, 0], [0, 0]]] * 12, False),
    ],
    ids=["equal", "four queries", "six queries", "undefined"],
)
def test_few_queries_and_equal_ones_have_no_interval(tables: list[list[list[int]]], exists: bool) -> None:
    assert (kappa_interval(tables) is not None) == exists


def test_interval_over_queries_equals_scipy() -> None:
    """scipy.stats.bootstrap over the queries' counts, percentile method; other random numbers."""
    rng = np.random.default_rng(3)
    tables = rng.integers(1, 30, (40, 2, 2))

    def kappa_of(indices: np.ndarray) -> float:
        return cohen_kappa(tables[indices].sum(axis=0).tolist()) or 0.0

    reference = bootstrap(
        (np.arange(40),), kappa_of, n_resamples=2000, method="percentile", vectorized=False, rng=rng,
        confidence_level=1 - 2 * expanded_tail(40),
    ).confidence_interval  # fmt: skip
    assert kappa_interval(tables.tolist()) == pytest.approx((reference.low, reference.high), abs=0.02)


def test_confusion() -> None:
    assert confusion_counts([0, 2, 2], [0, 0, 2]).tolist() == [[1, 0], [1, 1]]


# Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), example C: four observers, twelve units.
OBSERVERS = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


@pytest.mark.parametrize(("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_krippendorff_s_example(level: str, alpha: float) -> None:
    units = [[g for g in column if g is not None] for column in zip(*OBSERVERS, strict=True)]
    assert krippendorff_alpha(units, level) == pytest.approx(alpha, abs=5e-4)  # type: ignore[arg-type]


@given(st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2), min_size=1, max_size=30))
def test_nominal_alpha_ignores_the_order_of_graders(units: list[list[int]]) -> None:
    swapped = [unit[::-1] for unit in units]
    assert krippendorff_alpha(units) == pytest.approx(krippendorff_alpha(swapped))
