"""Paired tests: Student's example, exact randomisation, undefined t tests."""

from __future__ import annotations

import pytest

from exam_pp.metrics.bounded_mean import interval
from exam_pp.metrics.significance import paired_tests

# Additional hours of sleep with two drugs: Student, "The probable error of a mean", Biometrika 6 (1908). R
# has them as the data set `sleep`; t.test(..., paired = TRUE) gives t = -4.0621, df = 9, p-value = 0.002833.
FIRST = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SECOND = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]


def test_the_example_of_student() -> None:
    tests = paired_tests(FIRST, SECOND, None)

    assert tests.queries == 10
    assert tests.t == pytest.approx(-4.0621, abs=5e-5)
    assert tests.t_p_value == pytest.approx(0.002833, abs=5e-7)
    assert tests.difference == pytest.approx(-1.58)
    # All differences that are not 0 have the same sign, so 2 · 2 of 2^10 sign assignments are as extreme.
    assert tests.p_value == 4 / 1024
    assert tests.interval is not None
    # R's conf.int of the same test.
    assert tests.interval == pytest.approx((-2.4598858, -0.7001142), abs=1e-7)


def test_the_interval_of_a_difference_has_the_unseen_ends() -> None:
    """Scores from 0 to 2 differ by -2 to 2, also if all differences are equal."""
    tests = paired_tests([2, 2, 2, 2], [1, 1, 1, 1], (0, 2))
    assert tests.interval == pytest.approx(interval([1] * 4, -2, 2))
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
