"""Intervals, verdicts of the gate and places keep their promises, for made-up scores whose truth is known."""

from __future__ import annotations

import pytest

from scripts.bench.coverage import CHANGES, LAWS, RARE, correlations, means_of, pairs, passed, places, power
from tests.bench.test_coverage_bench import REFERENCE, REFERENCE_QUERIES


@pytest.mark.parametrize("law", range(len(LAWS)), ids=[law.name for law in LAWS])
def test_intervals_miss_as_often_as_those_of_another_implementation(law: int) -> None:
    for queries, (above, below, width) in zip(REFERENCE_QUERIES, REFERENCE[LAWS[law].name], strict=True):
        found = means_of(law, queries, 500, widths=500)

        assert 500 * found.above == pytest.approx(above, abs=1)
        assert 500 * found.below == pytest.approx(below, abs=1)
        assert found.width == pytest.approx(width, abs=2e-4)


@pytest.mark.parametrize("law", range(len(LAWS)), ids=[law.name for law in LAWS])
def test_coverage_of_95_percent_intervals_in_2000_samples(law: int) -> None:
    for queries in (5, 12, 50):
        found = means_of(law, queries, 2000, widths=1)

        assert found.above + found.below <= 0.07
        assert max(found.above, found.below) <= 0.036


def test_the_gate_passes_no_change_that_breaks_a_tenth_of_the_queries() -> None:
    for change in range(3):  # 10 % break, the rest is unchanged, noisy or better
        assert CHANGES[change].mean > 0.05
        assert all(passed(change, queries, 1000) <= 0.02 for queries in (2, 5, 10, 20, 50))
    assert all(passed(0, queries, 1000) == 0 for queries in (2, 5, 10, 20, 50))


def test_the_gate_rarely_passes_a_change_at_the_limit() -> None:
    at_limit = [change.name for change in CHANGES].index("2 % break (limit)")
    for queries in (150, 300):
        assert passed(at_limit, queries, 2000) <= 0.05 + 3 * (0.05 * 0.95 / 2000) ** 0.5


@pytest.mark.parametrize("skills", ["equal", "3 groups"])
@pytest.mark.parametrize("scores", ["tenths", "dense"])
def test_places_of_ten_systems_hold_together_and_agree_with_letters(scores: str, skills: str) -> None:
    for queries in (12, 25, 50):
        found = places(scores, skills, queries, 300)

        assert found.all_inside >= 0.92
        assert found.contradicted == 0


def test_intervals_of_correlations_over_queries_hold_the_true_one() -> None:
    """Resampled queries held it in 3 % (tenths) and 1 % (dense)."""
    for world in ("tenths, small differences", "tenths, judge equals ranks"):
        found = correlations(world, 12, 20, samples=60)
        assert found.shown < found.true - 0.1
        assert found.inside >= 0.93
    assert correlations("dense, small differences", 37, 43, samples=25).inside >= 0.88


def test_the_queries_for_a_pair_are_too_few_for_a_leaderboard() -> None:
    assert power(2, 5, 128) == pytest.approx(0.59, abs=0.08)
    assert power(2, 5, 217) == pytest.approx(0.84, abs=0.06)


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
