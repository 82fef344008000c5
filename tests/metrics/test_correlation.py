"""Correlation of leaderboards."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

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
    min_max_scaled,
    ranks_of,
    resample_systems,
)
from exam_pp.metrics.uncertainty import intervals

BOARD = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=2), st.integers(0, 6), min_size=2, max_size=9
)


@given(BOARD)
def test_a_leaderboard_agrees_with_itself(scores: dict[str, int]) -> None:
    result = correlate(scores, ranks_of(scores), top=3)

    assert result.systems == len(scores)
    if len(set(scores.values())) > 1:
        assert result[1:4] == pytest.approx((1.0, 1.0, 1.0))
    assert result.top_overlap in {1.0, None}


@given(BOARD)
def test_a_leaderboard_disagrees_with_its_reverse(scores: dict[str, int]) -> None:
    reverse = ranks_of({system: -score for system, score in scores.items()})
    result = correlate(scores, reverse)

    if len(set(scores.values())) > 1:
        assert result[1:4] == pytest.approx((-1.0, -1.0, -1.0))


def test_ties_of_all_systems_on_a_side_give_none() -> None:
    assert correlate({"a": 1, "b": 1}, {"a": 1, "b": 2}) == Correlation(2, None, None, None, None)


def test_kendall_is_tau_b_not_tau_a() -> None:
    """Concordant 2, discordant 0, one tie of three pairs: τ-b is 2/√(3·2), τ-a 2/3."""
    result = correlate({"a": 3, "b": 2, "c": 2}, {"a": 1, "b": 2, "c": 3})

    assert result.kendall == pytest.approx(2 / 6**0.5)


def test_ties_get_their_average_rank() -> None:
    """As in the official leaderboards that print 5, 5, 5 or 7.5, 7.5."""
    assert ranks_of({"a": 1.0, "b": 9.0, "c": 1.0, "d": 0.0}) == {"b": 1.0, "a": 2.5, "c": 2.5, "d": 4.0}


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


def test_tau_ap_weighs_mistakes_at_the_top_more() -> None:
    truth = [5.0, 4.0, 3.0, 2.0, 1.0]
    top, bottom = correlated([4, 5, 3, 2, 1], truth).tau_ap, correlated([5, 4, 3, 1, 2], truth).tau_ap

    assert top is not None
    assert bottom is not None
    assert top < bottom


def test_top_overlap_includes_all_systems_tied_at_k() -> None:
    assert correlated([9, 8, 7, 7, 1], [9, 8, 7, 1, 2], 3).top_overlap == 3 / 4
    assert correlated([3, 2, 1], [1, 2, 3], 3).top_overlap is None


def test_kendall_counts_pairs() -> None:
    scores = {"a": 4, "b": 1, "c": 3, "d": 2}
    ranks = {"a": 2, "b": 4, "c": 1, "d": 3}
    signs = [(scores[x] - scores[y]) * (ranks[y] - ranks[x]) for x, y in combinations(scores, 2)]

    assert correlate(scores, ranks).kendall == pytest.approx(
        (sum(s > 0 for s in signs) - sum(s < 0 for s in signs)) / len(signs)
    )


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


def test_intervals_over_systems_contain_the_value() -> None:
    rng = np.random.default_rng(2)
    scores = {f"s{i}": float(i + rng.normal(0, 4)) for i in range(30)}
    ranks = {f"s{i}": 30.0 - i for i in range(30)}
    samples = correlation_samples(*resample_systems(scores, ranks, samples=500))

    for value, interval in zip(correlate(scores, ranks)[1:], intervals(samples, 30), strict=True):
        assert value is not None
        assert interval is not None
        assert interval.low <= value <= interval.high


def test_approximate_ranks_equal_the_rank_of_the_next_better_system() -> None:
    """Table 4 of the workbench paper, sorted by question-4: ≈1, ≈27, ≈44 and ≈44 are printed there."""
    scores = {
        "GPT4-question": 0.747, "pash_f3": 0.738, "bigIR-T5xp-T5-F": 0.630, "GPT3.5-wiki": 0.627,
        "terrier-InL2": 0.541, "GPT4-wiki": 0.528,
    }  # fmt: skip
    ranks = {"pash_f3": 1, "bigIR-T5xp-T5-F": 27, "terrier-InL2": 44}

    assert approximate_ranks(scores, ranks) == {"GPT4-question": 1, "GPT3.5-wiki": 27, "GPT4-wiki": 44}


def test_an_approximate_rank_among_ties_is_the_worst_tied_rank() -> None:
    scores = {"a new one": 0.5, "first": 0.5, "second": 0.5, "last": 0.1}

    assert approximate_ranks(scores, {"second": 2, "first": 1, "last": 3}) == {"a new one": 2}


def test_min_max() -> None:
    assert min_max_scaled({"a": 2, "b": 4, "c": 3}) == {"a": 0.0, "b": 1.0, "c": 0.5}
    assert min_max_scaled({"a": 2, "b": 2}) == {"a": 0.0, "b": 0.0}
