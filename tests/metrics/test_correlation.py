"""Correlation of leaderboards, and of the scores of runs and queries."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata, spearmanr

from exam_pp.metrics.correlation import (
    Correlation,
    approximate_ranks,
    correlate,
    correlation_samples,
    int_if_whole,
    meta_evaluation,
    min_max_scaled,
    ranks_of,
    resample_systems,
    true_means,
)

BOARD = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=2), st.integers(0, 6), min_size=2, max_size=9
)


@given(BOARD, st.sampled_from([1, -1]))
def test_a_leaderboard_agrees_with_itself_and_disagrees_with_its_reverse(
    scores: dict[str, int], sign: int
) -> None:
    result = correlate(scores, ranks_of({system: sign * score for system, score in scores.items()}))
    assert result.systems == len(scores)
    if len(set(scores.values())) > 1:
        assert result[1:4] == pytest.approx((sign,) * 3)


@pytest.mark.parametrize("scores", [{"a": 1, "b": 1}, {"a": 1}, {}], ids=["ties", "one system", "none"])
def test_without_an_order_there_is_no_correlation(scores: dict[str, float]) -> None:
    assert correlate(scores, {"a": 1, "b": 2}) == Correlation(len(scores), None, None, None, None)


def correlated(estimated: Sequence[float], truth: Sequence[float], top: int = 5) -> Correlation:
    """The correlation of two lists of scores of the same systems."""
    names = [f"s{number}" for number in range(len(estimated))]
    return correlate(
        dict(zip(names, estimated, strict=True)), ranks_of(dict(zip(names, truth, strict=True))), top
    )


def plain_tau_ap(estimated: list[float], truth: list[float]) -> float:
    """The formula of Yilmaz, Aslam and Robertson (SIGIR 2008), for lists without ties."""
    order = sorted(range(len(estimated)), key=lambda i: -estimated[i])
    total = 0.0
    for position in range(1, len(order)):
        correct = sum(truth[above] > truth[order[position]] for above in order[:position])
        total += correct / position
    return 2 * total / (len(order) - 1) - 1


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_tau_ap_without_ties(estimated: list[int], truth: list[int]) -> None:
    actual = correlated(estimated, truth).tau_ap

    assert actual == pytest.approx(plain_tau_ap(list(estimated), list(truth)))


def test_top_overlap_includes_all_systems_tied_at_k() -> None:
    assert correlated([9, 8, 7, 7, 1], [9, 8, 7, 1, 2], 3).top_overlap == 3 / 4
    assert correlated([3, 2, 1], [1, 2, 3], 3).top_overlap is None


@given(BOARD, st.randoms())
def test_the_figures_are_those_of_scipy(scores: dict[str, int], random: object) -> None:
    shuffled = list(scores.values())
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    official = ranks_of(dict(zip(scores, shuffled, strict=True)))
    assert [official[system] for system in scores] == rankdata([-score for score in shuffled]).tolist()
    if len(set(shuffled)) > 1:
        values = list(scores.values())
        rho, tau = spearmanr(values, shuffled).statistic, kendalltau(values, shuffled).statistic
        assert correlate(scores, official)[1:3] == pytest.approx((rho, tau), abs=1e-12)


def test_samples_with_ties() -> None:
    """As single leaderboards: NaN if all official ranks are tied; overlap over the larger set."""
    computed = np.array([[3.0, 2.0, 1.0, 0.0], [3.0, 2.0, 2.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    for ranks in ([1.0, 1.0, 1.0, 1.0], [1.0, 2.0, 2.0, 4.0], [1.0, 4.0, 4.0, 4.0]):
        actual = correlation_samples(computed, [-rank for rank in ranks], top=2)
        official = dict(zip("abcd", ranks, strict=True))
        single = [
            correlate(dict(zip("abcd", row, strict=True)), official, top=2)[1:] for row in computed.tolist()
        ]
        expected = [[np.nan if value is None else value for value in row] for row in single]
        assert actual == pytest.approx(np.array(expected), nan_ok=True)


@pytest.mark.parametrize(
    ("scores", "ranks", "approximate"),
    [
        (
            {"GPT4-question": 0.747, "pash_f3": 0.738, "bigIR-T5xp-T5-F": 0.630, "GPT3.5-wiki": 0.627,
             "terrier-InL2": 0.541, "GPT4-wiki": 0.528},
            {"pash_f3": 1, "bigIR-T5xp-T5-F": 27, "terrier-InL2": 44},
            {"GPT4-question": 1, "GPT3.5-wiki": 27, "GPT4-wiki": 44},
        ),
        (
            {"a new one": 0.5, "first": 0.5, "second": 0.5, "last": 0.1},
            {"second": 2, "first": 1, "last": 3},
            {"a new one": 2},
        ),
    ],
    ids=["Table 4 of the workbench paper, sorted by question-4", "the worst rank of ties"],
)  # fmt: skip
def test_approximate_ranks_are_those_of_the_next_better_system(
    scores: dict[str, float], ranks: dict[str, int], approximate: dict[str, int]
) -> None:
    assert approximate_ranks(scores, ranks) == approximate


def test_samples_of_systems_keep_scores_with_their_ranks() -> None:
    """Systems on one side alone are in no sample."""
    scores = {"only scored": 99.0, **{f"s{n}": float(n) for n in range(12)}}
    ranks = {"only ranked": 99.0, **{f"s{n}": 12.0 - n for n in range(12)}}
    drawn, official = resample_systems(scores, ranks, samples=500)

    assert (drawn == official + 12).all()
    assert np.unique(drawn).tolist() == list(range(12))
    assert drawn.std(axis=0).min() > 0


FIVE = np.array(
    [
        [0.6, 0.5, 0.7, 0.4],
        [0.5, 0.5, 0.6, 0.3],
        [0.4, 0.2, 0.5, 0.3],
        [0.1, 0.3, 0.2, 0.2],
        [0.2, 0.1, 0.1, 0.3],
    ]
)
OFFICIAL = [0.9, 0.7, 0.6, 0.2, 0.3]


def test_draws_of_true_means_are_those_of_plain_python() -> None:
    """With the published steps of the model: noise .0031875, slopes .0491 and .5572, squares .0056627."""
    noise, squares = 0.0031875, 0.005662650602409646
    slopes = np.array([0.049096385542168586, 0.5572289156626508])
    top = 5 * math.sqrt(squares / 3) + 3 * math.sqrt(noise)
    own = [(top * step / 399) ** 2 for step in range(400)]
    density = [(s + noise) ** -1.5 * math.exp(-squares / (2 * (s + noise))) for s in own]
    rng = np.random.default_rng(4)
    variances = rng.choice(own, (50, 1), p=np.array(density) / sum(density))[:, 0]
    errors = rng.standard_normal((50, 2))
    noises = rng.standard_normal((50, 5))
    # The inverse of [[5, 2.7], [2.7, 1.79]] by hand, and its root.
    inverse = np.array([[1.79, -2.7], [-2.7, 5]]) / 1.66
    root = np.array([[inverse[0, 0] ** 0.5, 0], [inverse[0, 1] / inverse[0, 0] ** 0.5, 0]])
    root[1, 1] = (inverse[1, 1] - root[1, 0] ** 2) ** 0.5

    drawn = true_means(FIVE, OFFICIAL, samples=50, seed=4)

    for row, variance, error, extra in zip(drawn, variances, errors, noises, strict=True):
        first, second = slopes + math.sqrt(variance + noise) * (root @ error)
        weight = variance / (variance + noise)
        for system, (mean, y) in enumerate(zip(FIVE.mean(axis=1), OFFICIAL, strict=True)):
            fit = first + second * y
            expected = fit + weight * (mean - fit) + math.sqrt(weight * noise) * extra[system]
            assert row[system] == pytest.approx(expected, abs=1e-12)
    first = [
        0.5876633039852015,
        0.50037734951441,
        0.3255948544656055,
        0.16190874742321573,
        0.22496263672477387,
    ]
    again = true_means(FIVE, OFFICIAL, samples=1000)
    assert again[0] == pytest.approx(first, abs=1e-12)


def test_without_noise_queries_or_systems_there_are_no_draws() -> None:
    assert not len(true_means(np.add.outer([0.1, 0.2, 0.3, 0.5, 0.6], [0.1, 0.2, 0.0, 0.3]), OFFICIAL))
    assert not len(true_means(FIVE[:, :1], OFFICIAL))
    assert not len(true_means(FIVE[:3], OFFICIAL[:3]))
    assert not len(true_means(FIVE, [1, 1, 1, 1, 1]))


@pytest.mark.parametrize(
    ("scores", "scaled"),
    [({"a": 2, "b": 4, "c": 3}, {"a": 0.0, "b": 1.0, "c": 0.5}), ({"a": 2, "b": 2}, {"a": 0.0, "b": 0.0})],
)
def test_min_max(scores: dict[str, float], scaled: dict[str, float]) -> None:
    assert min_max_scaled(scores) == scaled


CELLS = [("a", "1"), ("b", "1"), ("c", "1"), ("a", "2"), ("b", "2"), ("c", "2")]


def test_three_levels_differ() -> None:
    """By hand: three runs, two queries; the second side orders query 2 in reverse."""
    first = dict(zip(CELLS, [0.9, 0.5, 0.1, 0.6, 0.4, 0.2], strict=True))
    second = dict(zip(CELLS, [0.8, 0.6, 0.0, 0.1, 0.2, 0.3], strict=True))
    first_means, second_means = (
        {run: sum(side[run, query] for query in "12") / 2 for run in "abc"} for side in (first, second)
    )
    result = meta_evaluation(first_means, second_means, first, second)

    assert (result.runs, result.pairs, result.queries, result.queries_used) == (3, 6, 2, 2)
    assert result.by_run == 1
    assert result.by_query == 0, "1 on the first query, -1 on the second"
    # Of 15 pairs of cells 11 agree, and 4 do not (the second cell of run a is low).
    assert result.pooled == pytest.approx((11 - 4) / 15)


def test_only_common_runs_and_queries_count() -> None:
    first = {("a", "1"): 1.0, ("b", "1"): 0.0, ("c", "1"): 0.5, ("a", "2"): 1.0, ("b", "2"): 1.0}
    second = {("a", "1"): 1.0, ("b", "1"): 0.0, ("a", "2"): 1.0, ("b", "2"): 0.0, ("d", "1"): 1.0}
    result = meta_evaluation({"a": 1.0, "b": 0.5, "c": 0.5}, {"a": 1.0, "b": 0.0, "d": 1.0}, first, second)

    assert (result.runs, result.pairs, result.queries, result.queries_used) == (2, 4, 2, 1)
    assert result.by_query == 1, "the query that one side ties is left out"


def test_without_queries() -> None:
    result = meta_evaluation({"a": 1.0, "b": 0.5}, {"a": 0.1, "b": 0.2}, {}, {})
    assert (result.by_run, result.pooled, result.by_query) == (-1, None, None)


@pytest.mark.parametrize(("rank", "shown"), [(2.0, "2"), (2.5, "2.5"), (None, "None")])
def test_whole_ranks_are_shown_as_integers(rank: float | None, shown: str) -> None:
    assert str(int_if_whole(rank)) == shown
