"""Numbers of audits: by hand, by plain Python and SciPy, with their invariances."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, rankdata, spearmanr

from exam_pp.metrics.uncertainty import expanded_tail
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.trust.audit_numbers import (
    advantage,
    correlation_within,
    difference_in_differences,
)

QUICK = Statistics(samples=100)
ROWS = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 5)), min_size=2, max_size=9)
QUERIES = st.lists(ROWS, min_size=1, max_size=5)


def within(queries: Sequence[Sequence[Sequence[float]]]) -> float | None:
    return correlation_within([[query] for query in queries], QUICK).estimate.value


def test_one_query_is_the_plain_correlation() -> None:
    rows = [(10, 1), (20, 3), (30, 2), (35, 5), (90, 4), (20, 1)]
    x, y = zip(*rows, strict=True)
    assert within([rows]) == pytest.approx(spearmanr(x, y).statistic)
    assert correlation_within([[rows]], QUICK).estimate.interval is None


def test_differences_between_queries_do_not_count() -> None:
    """Long queries get high grades, but within each query length and grade are opposite."""
    queries = [[(10, 1), (20, 0)], [(110, 5), (120, 4)]]
    assert within(queries) == pytest.approx(-1)
    x, y = zip(*chain(*queries), strict=True)
    assert spearmanr(x, y).statistic > 0


def test_a_confounder_is_held_constant() -> None:
    """Grades follow the judgment only; length follows it, too."""
    rows = [(10, 1, 1), (12, 1, 1), (30, 2, 2), (32, 2, 2), (50, 3, 3), (52, 3, 3)]
    assert within([[row[:2] for row in rows]]) == pytest.approx(0.956, abs=1e-3)
    strata = [[row[:2] for row in rows if row[2] == label] for label in (1, 2, 3)]
    assert correlation_within([strata], QUICK).estimate.value is None, "the judgment explains the grade"


@given(QUERIES)
def test_relabelling_changes_nothing(queries: list[list[tuple[int, int]]]) -> None:
    """Order of passages, monotone scales of length and grade: the correlation of ranks is the same."""
    other = [
        sorted(((10 * x**2 + 3, 2 * y + 7) for x, y in query), reverse=True) for query in reversed(queries)
    ]
    before, after = within(queries), within(other)
    assert (before is None) == (after is None)
    if before is not None:
        assert after == pytest.approx(before, abs=1e-6)


def test_undefined_and_counted_units() -> None:
    constant = correlation_within([[[(10, 3), (20, 3)]], [[(5, 1)]]], QUICK)
    assert constant == ((None, None), 2, 1)
    assert correlation_within([[], [[(5, 1)]]], QUICK) == ((None, None), 0, 0)


def test_the_interval_of_a_correlation_is_that_of_resampled_queries() -> None:
    """Plain Python with the same draws: rows of drawn queries repeated."""
    rng = np.random.default_rng(3)
    queries = [[(int(a), int(b)) for a, b in rng.integers(0, 9, (6, 2))] for _ in range(14)]
    found = correlation_within([[query] for query in queries], Statistics(samples=200, seed=5))
    counts = np.random.default_rng(5).multinomial(14, np.full(14, 1 / 14), size=200)
    scaled = [rankdata(np.array(query), axis=0) / 6 - 3.5 / 6 for query in queries]
    values = []
    for count in counts:
        drawn = np.vstack([scaled[n] for n in range(14) for _ in range(count[n])])
        values.append(pearsonr(*drawn.T).statistic)
    tail = expanded_tail(14)
    assert found.estimate.interval == pytest.approx(tuple(np.quantile(values, [tail, 1 - tail])))


OWN = [True, False, False]
GRADER = [[0.9, 0.7], [0.5, 0.3], [0.1, 0.5]]
PEOPLE = [[1, 1], [3, 1], [2, 0]]
SCORES = st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3)


def test_advantages_by_hand() -> None:
    """Means 0.8, 0.4, 0.3; mean 0.5 and standard deviation sqrt(0.14 / 3)."""
    found = advantage(GRADER, OWN, QUICK)
    assert found[:3] == pytest.approx((0.8, 0.35, 1))
    assert found[3].value == pytest.approx(0.45 / (0.14 / 3) ** 0.5)
    people = advantage(PEOPLE, OWN, QUICK)
    assert people[:3] == pytest.approx((1, 1.5, 2.5)), "tied with the last system"
    compared = difference_in_differences(GRADER, PEOPLE, OWN, QUICK)
    assert compared.value == pytest.approx(0.45 / (0.14 / 3) ** 0.5 + 0.5 / (2 / 9) ** 0.5)


def test_the_interval_of_a_difference_is_that_of_resampled_queries() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random((2, 4, 14))
    own = np.array([True, False, True, False])
    found = difference_in_differences(
        first.tolist(), second.tolist(), own.tolist(), Statistics(samples=200, seed=4)
    )
    values = []
    for count in np.random.default_rng(4).multinomial(14, np.full(14, 1 / 14), size=200):
        drawn = [n for n in range(14) for _ in range(count[n])]
        gaps = []
        for scores in (first, second):
            means = scores[:, drawn].mean(axis=1)
            gaps.append((means[own].mean() - means[~own].mean()) / means.std())
        values.append(gaps[0] - gaps[1])
    tail = expanded_tail(14)
    assert found.interval == pytest.approx(tuple(np.quantile(values, [tail, 1 - tail])))


@given(SCORES, st.integers(1, 5), st.integers(-5, 5))
def test_scales_do_not_matter(scores: list[list[int]], factor: int, shift: int) -> None:
    other = [[factor * score + shift for score in row] for row in scores]
    found = difference_in_differences(scores, other, OWN, QUICK)
    if len({sum(row) for row in scores}) == 1:
        assert found.value is None
    else:
        assert found.value == pytest.approx(0, abs=1e-9)
        assert found.interval is None


def test_a_single_query_has_no_interval() -> None:
    assert advantage([[1], [2], [3]], OWN, QUICK)[3].interval is None
    assert difference_in_differences([[1], [2], [3]], [[3], [1], [1]], OWN, QUICK).interval is None
