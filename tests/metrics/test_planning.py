"""Numbers of queries and labels to plan for: published formulas, and simulated leaderboards."""

from __future__ import annotations

import numpy as np
import pytest

from exam_pp.errors import SelectionError
from exam_pp.metrics.planning import labels_needed, plan_queries
from exam_pp.metrics.significance import queries_to_detect_range


@pytest.mark.parametrize(("systems", "queries"), [(2, 128), (5, 217), (12, 289)])
def test_before_there_are_data(systems: int, queries: int) -> None:
    """The t-test of a pair at .05 / pairs, for a standard deviation of .2 and a difference of .05."""
    plan = plan_queries(systems)
    assert (plan.needed, plan.spread) == ((queries, queries, queries), 0.2)


def test_a_large_difference_needs_as_many_queries_as_any() -> None:
    """Holm multiplies the smallest p-value of n queries, 2^(1 - n), by 66 pairs: 2^-11 * 66 < .05."""
    assert plan_queries(12, difference=1).needed.queries == 12


def test_the_pair_with_the_median_spread_of_a_pilot_counts() -> None:
    rng = np.random.default_rng(1)
    pilot = rng.random((3, 30)) * [[0.1], [0.3], [1.0]]
    found = plan_queries(5, np.hstack([pilot, [[0.1], [np.nan], [0.2]]]), difference=0.1)
    differences = sorted((pilot[a] - pilot[b] for a, b in ((0, 1), (0, 2), (1, 2))), key=np.std)
    assert found.needed == queries_to_detect_range(0.1, differences[1], tail=0.0025)
    assert found.spread is None


def test_few_differences_say_nothing_of_the_spread() -> None:
    assert plan_queries(2, [[0.5] * 9, [0.1 * n for n in range(9)]]).spread == 0.2
    assert plan_queries(5, [[0.5] * 20] * 5).spread == 0.2
    with pytest.raises(SelectionError, match="1 systems"):
        plan_queries(1)
    with pytest.raises(SelectionError, match="larger difference"):
        plan_queries(2, difference=1e-9)


@pytest.mark.parametrize(
    ("options", "labels"), [({}, 385), ({"correlation": 0.7}, 196), ({"pairs": 500}, 218)]
)  # fmt: skip
def test_labels(options: dict[str, float], labels: int) -> None:
    """1.96 * .5 / sqrt(m) = .05 gives m = 384.2; of 500 pairs 384.2 / (1 + 384.2 / 500) = 217.2."""
    assert labels_needed(0.05, **options) == labels  # type: ignore[arg-type]
