"""False alarms and hits of the verdicts of audits, on simulated data with a known truth."""

from __future__ import annotations

import numpy as np
import pytest

from exam_pp.metrics.uncertainty import Interval
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.trust.audit_numbers import correlation_within, difference_in_differences

DRAWS = 200
HIGHEST = 0.09
"""An error rate of 5 % gives more than 9 % of 200 draws in less than 1 % of all tests."""


def side(interval: Interval | None) -> int:
    assert interval is not None
    return 0 if interval.low <= 0 <= interval.high else 1 if interval.low > 0 else -1


def share_with_evidence_of_length(queries: int, slope: float, seed: int) -> float:
    """Length and grade depend on the judgment; the grade also on the rest of the length, by ``slope``."""
    rng = np.random.default_rng(seed)
    hits = 0
    for draw in range(DRAWS):
        strata = []
        for _ in range(queries):
            size = int(rng.integers(20, 60))
            judgment = rng.choice(4, size, p=[0.5, 0.2, 0.2, 0.1])
            excess = rng.normal(0, 0.5, size)
            words = np.exp(4 + 0.2 * judgment + excess).round()
            noise = rng.normal(0, 1.2, size) + rng.normal(0, 0.5)
            grade = np.clip(np.round(1.2 * judgment + slope * excess + noise), 0, 5)
            rows = np.column_stack([words, grade, judgment]).tolist()
            strata.append([[row[:2] for row in rows if row[2] == label] for label in range(4)])
        hits += side(correlation_within(strata, Statistics(seed=draw)).estimate.interval) != 0
    return hits / DRAWS


@pytest.mark.parametrize("queries", [10, 40])
def test_length_has_few_false_alarms(queries: int) -> None:
    assert share_with_evidence_of_length(queries, 0.0, seed=1) <= HIGHEST


def test_length_that_matters_is_detected() -> None:
    assert share_with_evidence_of_length(25, 0.3, seed=2) >= 0.7


def test_two_fair_sources_of_scores_cause_few_alarms() -> None:
    """Both see the same systems with noise of their own, on different scales; 43 queries."""
    rng = np.random.default_rng(4)
    alarms = 0
    for draw in range(DRAWS):
        quality = rng.normal(0, 1, (8, 1))
        first, second = (scale * (quality + rng.normal(0, 1.5, (8, 43))) for scale in (1, 2))
        found = difference_in_differences(
            first.tolist(), second.tolist(), [True] * 2 + [False] * 6, Statistics(seed=draw)
        )
        alarms += side(found.interval) != 0
    assert alarms / DRAWS <= HIGHEST
