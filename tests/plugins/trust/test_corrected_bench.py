"""Intervals of corrected scores contain the true score as often as they promise, in made-up worlds."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.grade_filter import GradeFilter
from exam_pp.plugins.trust.pair_sample import SampledBy
from scripts.bench.corrected import Size, coverage, of_file
from tests.plugins.trust.test_corrected import ANA, GRADES, JUDGE, WriteJsonl, written

SMALL = Size(queries=40, systems=2, entries=5, passages=12, cutoff=6)
"""About 2,000 pairs."""


@pytest.mark.parametrize("by", ["even", "rating", "entry"])
def test_coverage_in_a_few_draws(by: SampledBy) -> None:
    for found in coverage(SMALL, "lenient", 600, by, "mean", draws=10).values():
        assert found.coverage >= 0.8
        assert found.half_width < 0.05
        assert found.half_width < found.alone[1]


def test_few_contradictions_widen_intervals() -> None:
    """With 20 labels hardly any contradicts the judge: agreement would look like certainty."""
    for found in coverage(SMALL, "flips", 20, "even", "mean", draws=10).values():
        assert found.coverage >= 0.95
        assert found.half_width > 0.2


def test_samples_that_are_too_thin_are_marked() -> None:
    """With 100 labels of 2,000 pairs, few of the lenient judge's wrong entries can be refuted."""
    assert coverage(SMALL, "lenient", 100, "even", "cover", draws=5)["queries"].marked > 0.8


def test_samples_of_all_pairs_of_a_file_have_no_error(write_jsonl: WriteJsonl) -> None:
    graded: Path = written(write_jsonl, "graded.jsonl", GRADES)
    judge = GradeFilter(JUDGE, kind="question")
    *_, row = of_file(graded, None, judge, ANA, "pair-share", ["even:99"], None, 2)
    # By the judge, x covers 3/4 and y 3/8 of its pairs; by the person, 3/8 each.
    assert row.split(" | ")[1:6] == ["100 % (± 0.000)", "0.000"] * 2 + ["100 % (± 0.000)"]
    assert row.endswith("| 0.000 | 0.188 |")
