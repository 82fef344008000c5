"""Intervals of corrected scores contain the true score as often as they promise, in made-up worlds."""

from __future__ import annotations

import pytest

from scripts.bench.corrected import JUDGES, Judge, Measure, Size, coverage


@pytest.mark.parametrize("measure", ["cover", "mean"])
@pytest.mark.parametrize("judge", JUDGES)
def test_coverage_of_95_percent_intervals(judge: Judge, measure: Measure) -> None:
    """For three error models of the judge, with 2,000 labels of about 7,400 pairs."""
    for found in coverage(Size(), judge, 2000, "rating", measure, draws=300).values():
        assert 0.92 <= found.coverage <= 0.98  # 300 draws have a standard error of 1.3 %
        assert found.marked < 0.07
        assert found.difference[0] >= 0.92
        assert found.half_width < found.alone[1] or measure == "cover"


@pytest.mark.parametrize("measure", ["cover", "mean"])
@pytest.mark.parametrize("judge", JUDGES)
def test_coverage_with_whole_entries(judge: Judge, measure: Measure) -> None:
    """Already with 500 labels, of which few contradict the judge."""
    for found in coverage(Size(), judge, 500, "entry", measure, draws=300).values():
        assert found.coverage >= 0.93
