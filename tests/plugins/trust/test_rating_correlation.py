"""Rank correlation of two graders: values of SciPy, ties, intervals over queries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from exam_pp.metrics.uncertainty import expanded_tail
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.trust.rating_correlation import RatedItem, RatingCorrelation
from exam_pp.plugins.trust.rating_correlation import rating_correlation as correlation_of
from exam_pp.plugins.trust.resampling import Estimate

UNDEFINED = Estimate(None, None)
RATINGS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=2, max_size=30)


def rating_correlation(rated: Sequence[RatedItem], samples: int = 2000, seed: int = 0) -> RatingCorrelation:
    return correlation_of(rated, Statistics(samples=samples, seed=seed))


def items(first: Sequence[float], second: Sequence[float], queries: int = 1) -> list[RatedItem]:
    pairs = zip(first, second, strict=True)
    return [RatedItem(f"q{number % queries}", a, b) for number, (a, b) in enumerate(pairs)]


def test_examples_of_scipy() -> None:
    """The examples in the documentation of scipy.stats.kendalltau and scipy.stats.spearmanr."""
    tau = rating_correlation(items([12, 2, 1, 12, 2], [1, 4, 7, 1, 0]))
    assert tau.kendall.value == pytest.approx(-0.47140452079103173)
    assert tau.p_of_kendall == pytest.approx(0.2827454599327748)
    rho = rating_correlation(items([1, 2, 3, 4, 5], [5, 6, 7, 8, 7]))
    assert rho.spearman.value == pytest.approx(0.8207826816681233)
    assert rho.p_of_spearman == pytest.approx(0.08858700531354381)


def test_ties_are_those_of_equation_2() -> None:
    """T counts pairs that are tied only for the first grader, U those only for the second."""
    result = rating_correlation(items([0, 0, 0, 1, 2, 2], [0, 0, 1, 1, 1, 2]))

    # Pairs tied for both: items 1 and 2. First only: (1,3), (2,3), (5,6). Second only: (3,4), (3,5), (4,5).
    assert (result.first_ties, result.second_ties) == (3, 3)
    concordant, discordant = 8, 0
    expected = (concordant - discordant) / ((concordant + 3) * (concordant + 3)) ** 0.5
    assert result.kendall.value == pytest.approx(expected)


@given(RATINGS | st.permutations(range(9)).map(lambda order: list(enumerate(order))))
def test_coefficients_and_p_values_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    """The second strategy has no ties, where the p-value of τ is exact."""
    first, second = map(list, zip(*pairs, strict=True))
    result = rating_correlation(items(first, second), samples=10)

    if len(pairs) > 2 and len(set(first)) > 1 and len(set(second)) > 1:
        for value, p_value, reference in (
            (result.kendall.value, result.p_of_kendall, kendalltau),
            (result.spearman.value, result.p_of_spearman, spearmanr),
        ):
            assert (value, p_value) == pytest.approx(reference(first, second)[:2], abs=1e-9)


def test_intervals_resample_queries() -> None:
    """Equal queries and a single one have no interval; a seed gives the same interval again."""
    first, second = [0, 1, 2, 2, 1] * 4, [0, 2, 1, 2, 1] * 4
    equal = [RatedItem(f"q{n // 5}", a, b) for n, (a, b) in enumerate(zip(first, second, strict=True))]
    assert rating_correlation(equal).kendall.interval is None
    assert rating_correlation(items(first, second)).kendall.interval is None

    mixed = items(first, second, queries=20)
    one, again, other = (rating_correlation(mixed, seed=seed).kendall for seed in (3, 3, 4))
    assert one == again
    assert one.interval != other.interval
    assert one.interval is not None
    assert one.value is not None
    assert one.interval.low < one.value < one.interval.high


def test_a_bootstrap_with_weights_is_that_of_repeated_items() -> None:
    """The samples are those of the drawn queries, computed with SciPy."""
    rated = items([0, 1, 2, 2, 1, 0, 2] * 4, [1, 1, 2, 0, 1, 0, 2] * 4, queries=14)
    weights = np.random.default_rng(0).multinomial(14, np.full(14, 1 / 14), size=500)
    taus = []
    for drawn in weights.tolist():
        sample = [item for item in rated for _ in range(drawn[int(item.query_id[1:])])]
        tau = kendalltau([item.first for item in sample], [item.second for item in sample]).statistic
        taus.append(float(tau))
    known = [tau for tau in taus if not np.isnan(tau)]
    interval = rating_correlation(rated, samples=500).kendall.interval
    assert interval == pytest.approx(np.quantile(known, [expanded_tail(14), 1 - expanded_tail(14)]))


@pytest.mark.parametrize(
    "rated",
    [[], items([1], [2]), items([1, 1, 1], [0, 1, 2]), items([0, 1, 2], [1, 1, 1]), items([2, 2], [2, 2])],
    ids=["none", "one", "first constant", "second constant", "ties only"],
)
def test_undefined_correlations(rated: list[RatedItem]) -> None:
    result = rating_correlation(rated)
    assert result.p_of_kendall is result.p_of_spearman is None
    assert result.kendall == result.spearman == UNDEFINED


def test_two_items_have_no_p_value_of_rho() -> None:
    result = rating_correlation(items([0, 1], [0, 1], queries=2))
    assert result.kendall.value == result.spearman.value == 1.0
    assert result.p_of_spearman is None
