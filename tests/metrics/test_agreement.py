"""Cohen's κ, weighted κ, Krippendorff's α and the area under the ROC curve."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

from exam_pp.metrics.agreement import (
    area_under_curve,
    cohen_kappa,
    confusion,
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


def test_two_by_two_is_cohens_kappa() -> None:
    """The textbook table 20, 5 / 10, 15 has κ .4, with any weights."""
    first, second = spread([[20, 5], [10, 15]])
    assert weighted_kappa(first, second) == pytest.approx(0.4)
    assert weighted_kappa(first, second, power=1) == pytest.approx(0.4)


def test_published_table_of_rater_agreement() -> None:
    """The workbench's counts (998, 2377 / 668, 7343): κ .2488."""
    assert weighted_kappa(*spread([[998, 2377], [668, 7343]])) == pytest.approx(0.2488, abs=5e-5)


def test_large_differences_have_more_weight() -> None:
    near = weighted_kappa([0, 1, 2, 3], [1, 1, 2, 3])
    far = weighted_kappa([0, 1, 2, 3], [3, 1, 2, 3])
    assert near is not None
    assert far is not None
    assert near > far


@given(GRADES, st.sampled_from([1, 2]))
def test_equals_the_definition(pairs: list[tuple[int, int]], power: int) -> None:
    first, second = [i for i, _ in pairs], [j for _, j in pairs]
    assert weighted_kappa(first, second, power=power) == pytest.approx(by_definition(first, second, power))


def test_a_constant_grader_has_kappa_0() -> None:
    assert weighted_kappa([3, 3, 3, 3], [0, 1, 4, 5]) == pytest.approx(0)


def test_undefined_kappa_is_none() -> None:
    assert weighted_kappa([], []) is None
    assert weighted_kappa([2, 2], [2, 2]) is None


@pytest.mark.parametrize("function", [weighted_kappa, area_under_curve])
def test_lists_of_different_lengths_raise(function: object) -> None:
    with pytest.raises(ValueError, match="length"):
        function([1, 2], [1])  # type: ignore[operator]


def test_area_of_perfect_reversed_and_constant_scores() -> None:
    relevant = [True, True, False, False]
    assert area_under_curve([4, 3, 2, 1], relevant) == 1
    assert area_under_curve([1, 2, 3, 4], relevant) == 0
    assert area_under_curve([7, 7, 7, 7], relevant) == 0.5


def test_area_is_the_share_of_ordered_pairs() -> None:
    """Of the pairs (3, 1), (3, 2), (2, 1), (2, 2) three are in order and one is tied: 3.5 / 4."""
    assert area_under_curve([3, 2, 1, 2], [True, True, False, False]) == pytest.approx(3.5 / 4)


def test_area_of_one_class_is_none() -> None:
    assert area_under_curve([1, 2], [True, True]) is None
    assert area_under_curve([], []) is None


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=40))
def test_area_of_opposite_labels_adds_up_to_one(items: list[tuple[int, bool]]) -> None:
    scores, labels = [s for s, _ in items], [p for _, p in items]
    area = area_under_curve(scores, labels)
    other = area_under_curve(scores, [not p for p in labels])
    assert (area is None) == (other is None)
    if area is not None and other is not None:
        assert area + other == pytest.approx(1)


@pytest.mark.parametrize(
    ("counts", "kappa"), [([[998, 2377], [668, 7343]], 0.2488), ([[1211, 4095], [455, 5625]], 0.1604)]
)
def test_counts_of_the_workbench_paper(counts: list[list[int]], kappa: float) -> None:
    """Table 5 of the workbench paper, which prints .25 and .16."""
    assert cohen_kappa(counts) == pytest.approx(kappa, abs=5e-5)


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3))
def test_kappa_is_symmetric(counts: list[list[int]]) -> None:
    swapped = [list(column) for column in zip(*counts, strict=True)]
    assert cohen_kappa(counts) == pytest.approx(cohen_kappa(swapped))


def test_kappa_of_three_labels() -> None:
    """scikit-learn 1.9.1: cohen_kappa_score([0,0,1,1,2,2,2,0], [0,1,1,1,2,0,2,0]) is 0.627906976744186."""
    assert cohen_kappa([[2, 1, 0], [0, 2, 0], [1, 0, 2]]) == pytest.approx(0.627906976744186)


def test_kappa_without_disagreement_by_chance() -> None:
    assert cohen_kappa([[0, 0], [0, 0]]) is None
    assert cohen_kappa([[5, 0], [0, 0]]) is None


def test_few_queries_and_equal_ones_have_no_interval() -> None:
    table = [[998, 2377], [668, 7343]]
    assert kappa_interval([table] * 12) is None
    assert kappa_interval([table, [[9, 1], [2, 8]]] * 2) is None
    assert kappa_interval([table, [[9, 1], [2, 8]]] * 3) is not None
    assert kappa_interval([[[5, 0], [0, 0]]] * 12) is None


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
    assert confusion([0, 2, 2], [0, 0, 2]) == [[1, 0], [1, 1]]


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


def test_alpha_without_possible_disagreement_is_none() -> None:
    assert krippendorff_alpha([[1], [2]]) is None
    assert krippendorff_alpha([[3, 3], [3, 3]]) is None


@given(st.lists(st.lists(st.integers(0, 5), min_size=2, max_size=2), min_size=1, max_size=30))
def test_nominal_alpha_ignores_the_order_of_graders(units: list[list[int]]) -> None:
    swapped = [unit[::-1] for unit in units]
    assert krippendorff_alpha(units) == pytest.approx(krippendorff_alpha(swapped))
