"""Intervals of corrected scores contain the true score as often as they promise, in made-up worlds."""

from __future__ import annotations

import pytest

from exam_pp.pair_sample import SampledBy
from scripts.bench.corrected import (
    JUDGES,
    Judge,
    Measure,
    Size,
    label_coverage,
    query_coverage,
)

SMALL = Size(queries=40, systems=2, entries=5, passages=12, cutoff=6)
"""About 2,000 pairs."""


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["cover", "mean"])
@pytest.mark.parametrize("judge", JUDGES)
def test_coverage_of_95_percent_intervals_in_1000_draws(judge: Judge, measure: Measure) -> None:
    """From 93 to 97 %, for three error models of the judge, with 2,000 labels of about 7,400 pairs."""
    for coverage in (label_coverage, query_coverage):
        found = coverage(Size(), judge, 2000, "rating", measure, draws=1000)

        assert 0.93 <= found.coverage <= 0.97
        assert found.thin < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["cover", "mean"])
@pytest.mark.parametrize("judge", JUDGES)
def test_coverage_with_whole_entries_in_1000_draws(judge: Judge, measure: Measure) -> None:
    """Already with 1,000 labels; intervals of labels are too wide, up to 99 %."""
    assert label_coverage(Size(), judge, 1000, "entry", measure, draws=1000).coverage >= 0.95
    assert 0.925 <= query_coverage(Size(), judge, 1000, "entry", measure, draws=1000).coverage <= 0.97


@pytest.mark.parametrize("by", ["even", "rating", "entry"])
def test_coverage_in_a_few_draws(by: SampledBy) -> None:
    found = label_coverage(SMALL, "lenient", 600, by, "mean", draws=100)

    assert 0.88 <= found.coverage < 1
    assert 0.88 <= query_coverage(SMALL, "lenient", 600, by, "mean", draws=100).coverage < 1


def test_samples_that_are_too_thin_are_marked() -> None:
    """With 100 labels of 2,000 pairs, few of the lenient judge's wrong entries can be refuted."""
    assert label_coverage(SMALL, "lenient", 100, "even", "cover", draws=20).thin > 0.8
