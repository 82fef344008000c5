"""Significance tests: equal to scipy and R, invariants, and the ranks that they leave open."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, expon, kurtosis, permutation_test, t

from exam_pp.metrics import significance
from exam_pp.metrics.significance import (
    better,
    can_differ,
    closed,
    difference_interval,
    holm,
    letters,
    paired_test,
    paired_tests,
    queries_to_detect_range,
    rank_intervals,
    rating_ranks,
    step_down_tests,
)
from exam_pp.metrics.uncertainty import mean_interval
from scripts.bench.coverage import best_tests

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def mean_difference(x: np.ndarray, y: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(np.mean(x - y, axis=axis))


def scipy_p_values(first: np.ndarray, second: np.ndarray) -> float:
    """p of scipy, from all assignments."""
    result = permutation_test(
        (first, second), mean_difference, permutation_type="samples", vectorized=True,
        n_resamples=np.inf,  # type: ignore[call-overload]  # all of them, says its documentation
    )  # fmt: skip
    return float(result.pvalue)


def test_blocks_for_many_queries_have_few_signs_and_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(5).random((3, 60))
    whole = step_down_tests(values, samples=200)
    monkeypatch.setattr(significance, "_CELLS", 150)
    assert (step_down_tests(values, samples=200) == whole).all()


def test_exact_tests_of_a_pair_equal_scipy() -> None:
    """scipy.stats.permutation_test with all 2^8 assignments."""
    for first, second in np.random.default_rng(3).random((5, 2, 8)).round(1):
        assert paired_test(first, second) == pytest.approx(scipy_p_values(first, second))


def test_random_tests_are_near_scipy_s() -> None:
    rng = np.random.default_rng(4)
    base = rng.random(40)
    values = np.vstack([base, base + rng.normal(0.02, 0.06, 40)])
    expected = permutation_test(
        (values[0], values[1]), mean_difference, permutation_type="samples", vectorized=True,
        n_resamples=20_000, rng=np.random.default_rng(1),
    )  # fmt: skip

    assert paired_test(values[0], values[1], samples=20_000) == pytest.approx(expected.pvalue, abs=0.01)


@pytest.mark.parametrize(
    ("first", "second", "samples", "p"),
    [
        (np.linspace(0, 1, 30), np.linspace(0, 1, 30), 200, 1.0),
        (np.zeros(30), np.ones(30), 999, 1 / 1000),
        (np.zeros(5), np.ones(5), 10_000, 1 / 16),
        (np.zeros(7), np.ones(7), 2**7, 2 / 2**7),
    ],
    ids=["equal", "p is never 0", "the smallest p-value", "as many assignments as samples are all tried"],
)
def test_extreme_differences(first: np.ndarray, second: np.ndarray, samples: int, p: float) -> None:
    assert paired_test(first, second, samples=samples) == pytest.approx(p)


THREE = np.array([[1] * 4 + [0.1] * 4, [0.9] * 4 + [0] * 4, [0.9] * 3 + [0] * 4 + [0.9]])
FOUR = np.array(
    [
        [1.37, 1.04, 1.46, 1.3, 0.69, 1.58, 1.36, 1.39],
        [0.43, 0.75, 0.67, 1.23, 0.94, 1.12, 0.74, 0.53],
        [0.65, 0.16, 0.93, 0.73, 0.86, 0.45, 1.07, 0.99],
        [0.78, 0.19, 0.47, 0.04, 0.15, 0.68, 0.74, 0.97],
    ]
)


@pytest.mark.parametrize(
    ("values", "pairs", "best"),
    [
        (THREE, [0.0078125, 0.5078125, 1], [0.9140625, 0.00390625, 0.25390625]),
        (
            FOUR,
            [0.078125, 0.0390625, 0.0078125, 0.671875, 0.3125, 0.3125],
            [0.99609375, 0.03125, 0.015625, 0.00390625],
        ),
    ],
)
def test_adjusted_tests_and_tests_of_the_best(
    values: np.ndarray, pairs: list[float], best: list[float]
) -> None:
    """Numbers of another implementation that tries all 2^8 assignments."""
    adjusted = step_down_tests(values)
    assert adjusted[np.triu_indices(len(values), k=1)] == pytest.approx(pairs, abs=1e-9)
    assert (adjusted == adjusted.T).all()
    assert best_tests(values) == pytest.approx(best, abs=1e-9)


def test_systems_with_equal_scores_never_differ() -> None:
    values = np.array([[0.5] * 12, [0.5] * 12, [0.4] * 12])
    adjusted = step_down_tests(values)
    assert adjusted[0, 1] == 1
    assert adjusted[0, 2] < 0.01
    assert best_tests(values)[:2] == [1, 1]


@given(
    st.lists(st.integers(-9, 10).map(lambda tenths: tenths / 10), min_size=1, max_size=11),
    st.sampled_from([0.9, 0.95]),
)
def test_the_interval_of_the_test_excludes_0_where_the_test_rejects_it(
    differences: list[float], confidence: float
) -> None:
    found = difference_interval(differences, confidence)
    p_value = paired_test(differences, [0.0] * len(differences))
    assert (found.low <= 0 <= found.high) == (p_value > 1 - confidence + 1e-9)
    assert found.low <= np.mean(differences) <= found.high


def test_holm_by_hand() -> None:
    """Holm (1979): .01·4, .02·3 and so on, each at least the one before. As R's p.adjust(method="holm")."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(P_VALUES)
def test_holm_is_never_less_than_raw_and_keeps_the_order(raw: list[float]) -> None:
    adjusted = holm(raw)

    assert all(p <= q <= 1 for p, q in zip(raw, adjusted, strict=True))
    order = sorted(range(len(raw)), key=lambda i: raw[i])
    assert [adjusted[i] for i in order] == sorted(adjusted)


@st.composite
def relations(draw: st.DrawFn) -> np.ndarray:
    """Relations of systems, best first, to worse ones; not closed."""
    n = draw(st.integers(1, 7))
    bits = draw(st.lists(st.booleans(), min_size=n * n, max_size=n * n))
    return np.triu(np.array(bits).reshape(n, n), k=1)


@given(relations())
def test_systems_share_a_letter_exactly_if_neither_is_better(relation: np.ndarray) -> None:
    shown = letters(relation)

    for i in range(len(relation)):
        assert shown[i]
        for j in range(i):
            assert bool(set(shown[i]) & set(shown[j])) != bool(relation[j, i])


@given(relations())
def test_letters_and_ranks_never_contradict_each_other(relation: np.ndarray) -> None:
    shown = closed(relation)
    groups, ranks = letters(shown), rank_intervals(shown)

    for i, (first, last) in enumerate(ranks):
        assert first <= i + 1 <= last  # the observed rank
        for j, (other_first, other_last) in enumerate(ranks):
            if i != j and set(groups[i]) & set(groups[j]):
                assert min(last, other_last) - max(first, other_first) >= 1  # two ranks in common
            if shown[i, j]:
                assert first < other_first
                assert last < other_last


def test_a_closed_relation_has_letters_and_ranks_that_agree() -> None:
    """1 > 2 > 4 and 1 > 3 > 4 without 1 > 4 would let 1 and 4 share a letter but no rank."""
    relation = np.zeros((4, 4), dtype=bool)
    relation[[0, 0, 1, 2], [1, 2, 3, 3]] = True

    assert letters(relation)[0] == letters(relation)[3][:1] == "a"
    assert letters(closed(relation)) == ["a", "b", "b", "c"]
    assert rank_intervals(closed(relation)) == [(1, 1), (2, 3), (2, 3), (4, 4)]


def test_the_order_of_a_difference_is_that_of_the_means() -> None:
    values = np.array([[0.1, 0.2] * 10, [0.8, 0.9] * 10, [0.5, 0.9, 0.8, 0.8] * 5])
    relation = better(values)

    assert relation[1, 0]
    assert relation[2, 0]
    assert relation.sum() == 2 + relation[1, 2]
    assert not better(np.full((3, 20), 0.5)).any()


@pytest.mark.parametrize(
    ("systems", "fewest"), [(2, 6), (3, 7), (4, 8), (5, 9), (6, 10), (8, 11), (10, 11), (15, 13), (50, 16)]
)
def test_fewest_queries_for_any_difference(systems: int, fewest: int) -> None:
    assert can_differ(systems, fewest)
    assert not can_differ(systems, fewest - 1)
    assert can_differ(2, 5, alpha=2 / 32)


@pytest.mark.parametrize(
    ("different", "expected"),
    [
        ([(0, 2)], ["a", "ab", "b"]),
        ([(0, 3), (1, 4), (2, 4), (2, 5)], ["abc", "abd", "ad", "de", "ce", "bce"]),
    ],
    ids=["the middle one differs from neither", "systems between a pair join its group first"],
)
def test_letters_by_hand(different: list[tuple[int, int]], expected: list[str]) -> None:
    """With groups in leaderboard order only, the six systems would need six letters."""
    relation = np.zeros((len(expected), len(expected)), dtype=bool)
    relation[tuple(zip(*different, strict=True))] = True

    assert letters(relation) == expected


def test_a_chain_of_neighbours_needs_a_letter_for_each_window() -> None:
    """Systems that are five or more positions apart differ: every window of five shares a letter."""
    positions = np.arange(30)
    shown = letters(positions - positions[:, None] >= 5)

    assert shown[:3] == ["a", "ab", "abc"]
    assert shown[29] == "z"
    assert max(map(len, shown)) == 5


def test_letters_after_z() -> None:
    """All systems differ: each has another letter."""
    shown = letters(np.triu(np.ones((54, 54), dtype=bool), k=1))

    assert [shown[i] for i in (25, 26, 27, 51, 52)] == ["z", "(aa)", "(ab)", "(az)", "(ba)"]


def test_a_p_value_of_alpha_is_significant() -> None:
    """Five queries, all in one direction: 2 of 32 assignments are as extreme."""
    values = np.array([[1.0] * 5, [0.0] * 5])
    assert better(values, alpha=2 / 32).tolist() == [[False, True], [False, False]]
    assert not better(values, alpha=0.0624).any()


def test_range_of_the_queries_to_detect() -> None:
    # By hand: 7.85 (s / 0.25)² + 2 is 35.1 for s = 0.5130. The kurtosis is 1, which gives 19 degrees of
    # freedom: 7.85 (s / 0.25)² · 19 / 27.20 + 2 = 25.1 and 7.85 (s / 0.25)² · 19 / 11.65 + 2 = 55.9.
    result = queries_to_detect_range(0.25, [0.0, 1.0] * 10)
    assert result == (36, 26, 56)
    assert queries_to_detect_range(0.025, [0.0, 0.1] * 10) == result
    assert queries_to_detect_range(0.25e-200, [0.0, 1e-200] * 10) == result


@pytest.mark.parametrize("difference", [0.2, 0.5, 3.0])
def test_queries_to_detect_by_the_formulas(difference: float) -> None:
    """The smallest n of the t test, at the spread and at the ends of Bonett's interval of it."""
    drops = expon.ppf((np.arange(20) + 0.5) / 20)
    freedom = 40 / (1.5 * float(kurtosis(drops, fisher=False)) - 17 / 19)
    ends = [freedom / chi2.ppf(share, freedom) for share in (0.9, 0.1)]
    spreads = float(np.std(drops, ddof=1)) * np.sqrt([1, *ends])
    quantiles = {n: t.ppf(0.8, n - 1) + t.ppf(0.975, n - 1) for n in range(2, 600)}
    assert queries_to_detect_range(difference, drops) == tuple(
        next(n for n, both in quantiles.items() if n >= (both * spread / difference) ** 2)
        for spread in spreads.tolist()
    )


def test_few_differences_give_no_upper_end() -> None:
    result, of_two = (queries_to_detect_range(0.05, drops) for drops in ([0.1] * 9 + [0.0] * 20, [0.0, 0.1]))
    assert result is not None
    assert result.low <= result.queries
    assert result.high is None
    assert of_two is not None
    assert queries_to_detect_range(1e-12, np.linspace(-1, 1, 30)) is None


@pytest.mark.parametrize("drops", [[0.0] * 8, [0.1] * 8, [0.1]])
def test_no_number_of_queries_without_a_spread(drops: list[float]) -> None:
    assert queries_to_detect_range(0.05, drops) is None


# Additional hours of sleep with two drugs: Student, "The probable error of a mean", Biometrika 6 (1908). R
# has them as the data set `sleep`; t.test(..., paired = TRUE) gives t = -4.0621, df = 9, p-value = 0.002833.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_the_example_of_student() -> None:
    """With the interval of R's t test."""
    tests = paired_tests(FIRST, SECOND, None)

    assert tests.queries == 10
    assert tests.t == pytest.approx(-4.0621, abs=5e-5)
    assert tests.t_p_value == pytest.approx(0.002833, abs=5e-7)
    assert tests.difference == pytest.approx(-1.58)
    # All differences that are not 0 have the same sign, so 2 · 2 of 2^10 sign assignments are as extreme.
    assert tests.p_value == 4 / 1024
    assert tests.interval == pytest.approx((-2.4598858, -0.7001142), abs=1e-7)


def test_the_interval_of_a_difference_has_the_unseen_ends() -> None:
    """Scores from 0 to 2 differ by -2 to 2, also if all differences are equal."""
    tests = paired_tests([2, 2, 2, 2], [1, 1, 1, 1], (0, 2))
    assert tests.interval == pytest.approx(mean_interval([1] * 4, (-2, 2)))
    with pytest.raises(ValueError, match="highest possible"):
        paired_tests([3], [0], (0, 2))


@pytest.mark.parametrize(
    ("first", "second", "p_value"),
    [([2, 2, 1], [2, 2, 1], 1.0), ([2, 2, 2], [1, 1, 1], 2 / 8), ([2], [0], 1.0)],
    ids=["no difference", "constant difference", "one query"],
)
def test_equal_differences_have_no_t_test(first: list[int], second: list[int], p_value: float) -> None:
    tests = paired_tests(first, second, (0, 2))
    assert (tests.t, tests.t_p_value, tests.p_value) == (None, None, p_value)


@pytest.mark.parametrize(("queries", "ranks"), [(5, [(1, 2), (1, 2)]), (6, [(1, 1), (2, 2)])])
def test_without_spread_the_number_of_queries_decides(queries: int, ranks: list[tuple[int, int]]) -> None:
    """The smallest p-value of an exact test on n queries is 2^(1 − n): 0.0625 and 0.03125."""
    assert rating_ranks(np.array([2.0, 1.0]), np.tile([2.0, 1.0], (9, 1)), queries) == ranks


def test_ranks_follow_differences_and_not_single_ratings() -> None:
    """a and b vary together, so their difference is certain; c overlaps with both."""
    rng = np.random.default_rng(1)
    together, alone = 50 * rng.normal(size=(2, 4000))
    samples = np.column_stack([1030 + together, 1000 + together + rng.normal(size=4000), 970 + alone])
    assert rating_ranks(np.array([1030.0, 1000.0, 970.0]), samples, 30) == [(1, 2), (2, 3), (1, 3)]


def test_equal_ratings_share_all_ranks() -> None:
    samples = np.random.default_rng(2).normal(size=(100, 3))
    assert rating_ranks(np.zeros(3), samples, 40) == [(1, 3)] * 3
