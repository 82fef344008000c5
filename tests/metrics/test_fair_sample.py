"""Fair samples: order, looks, levels, and estimates that are unbiased whatever the judge is worth."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from exam_pp.metrics.fair_sample import (
    DecidedUnits,
    complete_look,
    level,
    looks,
    sample_order,
    sample_scores,
)

NO_PAIRS = np.zeros((1, 2), dtype=np.int64)


def test_order_depends_on_ids_and_seed_alone() -> None:
    entries = ["c", "a", "b", "d", "e"]
    first = sample_order("q1", entries)
    assert sorted(first) == sorted(entries)
    assert sample_order("q1", reversed(entries)) == first
    assert [entry for entry in first if entry != "a"] == sample_order("q1", ["b", "c", "d", "e"])
    assert {tuple(sample_order(query, entries)) for query in map(str, range(20))} > {
        tuple(sample_order("0", entries))
    }
    assert sample_order("q1", entries, seed=1) != first


@pytest.mark.parametrize(
    ("entries", "expected"),
    [(1, [1]), (2, [1, 2]), (4, [1, 2, 3, 4]), (8, [1, 2, 3, 5, 8]), (20, [1, 2, 3, 5, 8, 13, 20])],
)
def test_looks(entries: int, expected: list[int]) -> None:
    assert looks(entries) == expected


def units(people: list[list[float]], query_id: str = "q") -> DecidedUnits:
    values = np.array(people)
    return DecidedUnits(query_id, np.ones(values.shape[1]), np.zeros_like(values), values, NO_PAIRS)


def test_a_look_is_complete_for_all_systems_and_queries() -> None:
    """A query with fewer entries is complete when all of them are decided."""
    nan = float("nan")
    queries = [units([[1, 0, nan, 1], [0, 1, 0, nan]]), units([[1], [0]])]
    assert complete_look(queries) == 2
    assert complete_look([*queries, units([[nan, 1], [1, 1]])]) == 0
    assert complete_look([units([[1, 0, 1, 1, nan]])]) == 3  # the look after 3 is 5


def test_all_looks_share_the_error() -> None:
    queries = [units([[1.0] * 8])]
    shares = [level(queries, look, 0.05) for look in looks(8)]
    assert shares == [0.00625] * 4 + [0.025]
    assert sum(shares) == pytest.approx(0.05)
    assert level([units([[1.0]])], 1, 0.05) == 0.05


def test_estimates_are_unbiased_over_all_orders() -> None:
    """The mean over all orders of the entries is what people find in all of them, with weights, too.

    With fewer than five ratings of a value of the judge, their overall mean is expected everywhere, which
    depends on the order; so one value and one query with six ratings a look.
    """
    weights = np.array([1.0, 2.0, 0.5])
    people = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    estimates = [
        sample_scores(
            [DecidedUnits("q", weights[list(order)], np.zeros((2, 3)), people[:, list(order)], NO_PAIRS)], 2
        )
        for order in permutations(range(3))
    ]
    differences = [estimate[0, 0] - estimate[1, 0] for estimate in estimates]
    truth = people @ weights / weights.sum()
    assert np.mean(differences) == pytest.approx(truth[0] - truth[1])


def test_estimates_by_hand() -> None:
    """Two queries of 6 entries, all of which the judge covers; of 5 people find 4 and 2 covered.

    The mean rating is .6, so the scores are .6 + (4/5 − .6) and .6 + (2/5 − .6).
    """
    nan = float("nan")
    queries = [
        DecidedUnits("1", np.ones(6), np.ones((1, 6)), np.array([[1, 1, 1, 1, 0, nan]]), NO_PAIRS),
        DecidedUnits("2", np.ones(6), np.ones((1, 6)), np.array([[0, 1, 0, 1, 0, nan]]), NO_PAIRS),
    ]
    assert sample_scores(queries, 5) == pytest.approx(np.array([[0.8, 0.4]]))


def test_a_judge_that_is_right_needs_no_sample() -> None:
    """Where people confirm the judge, the unrated entries count as the judge says."""
    nan = float("nan")
    judged = np.array([[1.0, 0, 1, 0, 1, 0, 1, 0, 1, 0], [0.0, 1, 0, 1, 0, 1, 0, 1, 0, 0]])
    people = judged.copy()
    people[:, 8:] = nan
    query = DecidedUnits("q", np.ones(10), judged, people, NO_PAIRS)
    assert sample_scores([query], 8) == pytest.approx(np.array([[0.5], [0.4]]))
