"""Intervals, verdicts of the gate and places keep their promises, for made-up scores whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from exam_pp.metrics.bounded_mean import interval
from scripts.bench.coverage import (
    CHANGES,
    LAWS,
    RARE,
    contradicts,
    correlations,
    means_of,
    pairs,
    passed,
    places,
    power,
)

REFERENCE = {
    "Beta(.5, 2)": [(0, 0, 0.7380), (2, 0, 0.5743), (1, 0, 0.4404), (10, 0, 0.2167)],
    "Beta(2, .5)": [(0, 0, 0.7352), (0, 1, 0.5755), (0, 0, 0.4392), (0, 7, 0.2157)],
    "Beta(5, 5)": [(0, 0, 0.7175), (0, 0, 0.5398), (0, 0, 0.3982), (0, 0, 0.1765)],
    "50 % zeros, else Beta(2, 3)": [(1, 0, 0.7459), (3, 0, 0.5909), (3, 0, 0.4607), (5, 0, 0.2356)],
    "85 % zeros, else Beta(2, 2)": [(3, 0, 0.7336), (6, 0, 0.5655), (5, 0, 0.4253), (3, 0, 0.2065)],
    "reciprocal ranks": [(0, 0, 0.7995), (1, 0, 0.6810), (6, 2, 0.5616), (8, 4, 0.3305)],
    "tenths, binomial": [(0, 0, 0.7408), (0, 0, 0.5820), (4, 0, 0.4460), (4, 1, 0.2239)],
    "50 % ones": [(0, 0, 0.8605), (0, 0, 0.7539), (2, 1, 0.6499), (13, 8, 0.4021)],
    "10 % ones": [(0, 0, 0.7596), (3, 0, 0.6086), (3, 0, 0.4698), (6, 0, 0.2579)],
}
"""Of 500 samples of 3, 5, 8 and 25 scores: intervals above and below the mean, and the mean width."""
REFERENCE_QUERIES = (3, 5, 8, 25)


@pytest.mark.slow
@pytest.mark.parametrize("law", range(len(LAWS)), ids=[law.name for law in LAWS])
def test_intervals_miss_as_often_as_those_of_another_implementation(law: int) -> None:
    for queries, (above, below, width) in zip(REFERENCE_QUERIES, REFERENCE[LAWS[law].name], strict=True):
        found = means_of(law, queries, 500, widths=500)

        assert 500 * found.above == pytest.approx(above, abs=1)
        assert 500 * found.below == pytest.approx(below, abs=1)
        assert found.width == pytest.approx(width, abs=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize("law", range(len(LAWS)), ids=[law.name for law in LAWS])
def test_coverage_of_95_percent_intervals_in_2000_samples(law: int) -> None:
    for queries in (5, 12, 50):
        found = means_of(law, queries, 2000, widths=1)

        assert found.above + found.below <= 0.07
        assert max(found.above, found.below) <= 0.036


@pytest.mark.slow
def test_the_gate_passes_no_change_that_breaks_a_tenth_of_the_queries() -> None:
    for change in range(3):  # 10 % break, the rest is unchanged, noisy or better
        assert CHANGES[change].mean > 0.05
        assert all(passed(change, queries, 1000) <= 0.02 for queries in (2, 5, 10, 20, 50))
    assert all(passed(0, queries, 1000) == 0 for queries in (2, 5, 10, 20, 50))


@pytest.mark.slow
def test_the_gate_rarely_passes_a_change_at_the_limit() -> None:
    at_limit = [change.name for change in CHANGES].index("2 % break (limit)")
    for queries in (150, 300):
        assert passed(at_limit, queries, 2000) <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5


@pytest.mark.slow
@pytest.mark.parametrize("skills", ["equal", "3 groups"])
@pytest.mark.parametrize("scores", ["tenths", "dense"])
def test_places_of_ten_systems_hold_together_and_agree_with_letters(scores: str, skills: str) -> None:
    for queries in (12, 25, 50):
        found = places(scores, skills, queries, 300)

        assert found.all_inside >= 0.92
        assert found.contradicted == 0


@pytest.mark.parametrize("law", [0, 5, 8])
def test_misses_are_those_of_the_intervals(law: int) -> None:
    found = means_of(law, 8, 20, widths=20)
    scores = LAWS[law].draw(np.random.default_rng([1, law, 8]), (20, 8))
    limits = np.array([interval(row, 0, 1) for row in scores])

    assert found.above == (limits[:, 0] > LAWS[law].mean).mean()
    assert found.below == (limits[:, 1] < LAWS[law].mean).mean()
    assert found.width == pytest.approx((limits[:, 1] - limits[:, 0]).mean())


@pytest.mark.parametrize(
    ("letters", "ranks", "contradicted"),
    [
        (["a", "b", "b", "a"], [(1, 2), (2, 3), (2, 3), (3, 4)], True),  # 1 and 4, without the closure
        (["a", "b"], [(1, 2), (1, 2)], True),
        (["a", "ab", "b"], [(1, 2), (1, 3), (2, 3)], False),
    ],
)
def test_a_contradiction_is_seen(
    letters: list[str], ranks: list[tuple[int, int]], contradicted: bool
) -> None:
    assert contradicts(letters, ranks) == contradicted


@pytest.mark.slow
def test_intervals_of_correlations_over_queries_hold_the_true_one() -> None:
    """Resampled queries held it in 3 % (tenths) and 1 % (dense)."""
    for world in ("tenths, small differences", "tenths, judge equals ranks"):
        found = correlations(world, 12, 20, samples=60)
        assert found.shown < found.true - 0.1
        assert found.inside >= 0.93
    assert correlations("dense, small differences", 37, 43, samples=25).inside >= 0.88


@pytest.mark.slow
def test_the_queries_for_a_pair_are_too_few_for_a_leaderboard() -> None:
    assert power(2, 5, 128) == pytest.approx(0.59, abs=0.08)
    assert power(2, 5, 217) == pytest.approx(0.84, abs=0.06)


@pytest.mark.slow
def test_pairs_and_the_best_system_are_rarely_wrong_unless_a_rival_breaks_rarely() -> None:
    """Of 60 boards, at most 7 false ones by chance at 5 %."""
    equal = pairs("tenths", "interchangeable", 12, 20, samples=60)
    assert equal.false <= 7 / 60
    ahead = pairs("tenths", "even steps", 12, 20, samples=60)
    assert ahead.false <= 7 / 60
    assert ahead.missed <= 7 / 60
    assert ahead.found > ahead.by_holm
    assert ahead.likely < ahead.leaders
    assert pairs("dense", RARE, 5, 12, samples=60).false > 0.1  # so a note stands beside claims
