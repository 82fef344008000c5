"""Calibration: numbers by hand, plain Python, and properties."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.calibration import Calibration, calibration, equal_counts, equal_width

PAIRS = st.lists(st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.booleans()), min_size=1, max_size=40)


def calibrated(queries: list[list[tuple[float, bool]]], samples: int = 100) -> Calibration:
    found = calibration(queries, samples=samples)
    assert found is not None
    return found


def test_numbers_by_hand() -> None:
    """Bins (0.2, 0.3] and (0.8, 0.9]: |1/2 - 0.25| · 2/4 + |1 - 0.85| · 2/4 = 0.2."""
    found = calibrated([[(0.25, True), (0.25, False)], [(0.8 + 1e-3, True), (0.9 - 1e-3, True)]])
    assert [each[:3] for each in found.bins] == [(0.2, 0.3, 2), (0.8, 0.9, 2)]
    assert [each[3:] for each in found.bins] == [
        pytest.approx((0.25, 0.5)), pytest.approx((0.85, 1.0)),
    ]  # fmt: skip
    assert found.ece.value == pytest.approx(0.2)
    assert (found.pairs, found.queries, found.share) == (4, 2, 0.75)
    assert found.bias.value == pytest.approx(0.55 - 0.75)
    squares = [0.75**2, 0.25**2, 0.199**2, 0.101**2]
    assert found.brier.value == pytest.approx(sum(squares) / 4)


def test_bins_are_those_of_guo() -> None:
    """Bin m is ((m - 1) / M, m / M], section 2; 0 is in the first bin."""
    assert equal_width([0, 1e-9, 0.1, 0.1000001, 0.3, 0.30001, 0.7, 0.999, 1]).tolist() == [
        0, 0, 0, 1, 2, 3, 6, 9, 9,
    ]  # fmt: skip


@given(PAIRS)
def test_the_error_in_plain_python(pairs: list[tuple[float, bool]]) -> None:
    found = calibrated([pairs])
    cells: dict[int, list[tuple[float, bool]]] = {}
    for p, label in pairs:
        cells.setdefault(max(1, math.ceil(round(20 * p) / 2)), []).append((p, label))
    expected = sum(
        len(cell)
        / len(pairs)
        * abs(sum(y for _, y in cell) / len(cell) - sum(p for p, _ in cell) / len(cell))
        for cell in cells.values()
    )
    assert found.ece.value == pytest.approx(expected, abs=1e-12)
    assert 0 <= found.adaptive_ece.value <= 1
    assert (
        sum(each.pairs for each in found.bins)
        == sum(each.pairs for each in found.adaptive_bins)
        == len(pairs)
    )
    assert found.ece.value >= abs(found.bias.value) - 1e-12


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=6))
def test_the_error_of_calibrated_data_is_0(groups: list[tuple[int, int]]) -> None:
    """Of 10 n pairs with the probability k/10, k n have the label."""
    pairs = [(k / 10, index < k * n) for k, n in groups for index in range(10 * n)]
    found = calibrated([pairs, pairs])
    assert found.ece.value == pytest.approx(0, abs=1e-12)
    assert found.adaptive_ece.value == pytest.approx(0, abs=1e-12)
    assert found.bias.interval is None


@given(PAIRS)
def test_certain_probabilities_have_the_error_rate(pairs: list[tuple[float, bool]]) -> None:
    certain = [(float(p >= 0.5), label) for p, label in pairs]
    wrong = sum(bool(p) != label for p, label in certain) / len(pairs)
    found = calibrated([certain])
    assert found.brier.value == found.ece.value == pytest.approx(wrong)
    assert (found.expected_ece, found.highest_ece) == (0, 0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.randoms(use_true_random=False))
def test_bins_of_equal_counts(values: list[float], random: object) -> None:
    bins = equal_counts(values).tolist()
    by_value: dict[float, set[int]] = {}
    for value, number in zip(values, bins, strict=True):
        by_value.setdefault(value, set()).add(number)
    assert all(len(numbers) == 1 for numbers in by_value.values())
    assert [bins[n] for n in np.argsort(values)] == sorted(bins)
    if len(by_value) == len(values):
        sizes = [bins.count(number) for number in range(10)]
        assert max(sizes) - min(sizes) <= 1


def test_few_pairs_bias_the_error_upwards() -> None:
    """A calibrated grader with the probability 1/2 and a single pair has the error 1/2."""
    one = calibrated([[(0.5, True)]])
    assert (one.expected_ece, one.highest_ece, one.ece.value, one.ece.interval) == (0.5, 0.5, 0.5, None)
    many = calibrated([[(0.5, n % 2 == 0) for n in range(400)]], samples=2000)
    # E|B/400 - 1/2| of a binomial B(400, 1/2) is about sqrt(2 / pi) / 40, by the normal approximation.
    assert many.expected_ece == pytest.approx(math.sqrt(2 / math.pi) / 40, rel=0.05)
    assert many.highest_ece == pytest.approx(1.96 / 40, rel=0.1)


def test_intervals_are_over_queries() -> None:
    """Six queries, errors 0.1 and 0.3 on one pair each: the ends are samples of one kind alone."""
    found = calibrated([[(0.9, True)], [(0.7, True)]] * 3, samples=10_000)
    assert found.ece.value == pytest.approx(0.2)
    assert found.ece.interval == pytest.approx((0.1, 0.3))
    assert found.brier.interval == pytest.approx((0.01, 0.09))
    assert calibrated([[(0.9, True)], [(0.7, True)]] * 2).ece.interval is None
    assert calibration([[], []]) is None
