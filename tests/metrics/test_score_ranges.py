"""Ranges of measures: every measure has one, or none on purpose."""

from __future__ import annotations

import pytest
from ir_measures.measures import registry

from exam_pp.metrics.cover import Cover, SoftCover
from exam_pp.metrics.measures import (
    LENGTH,
    NUGGET_METRICS,
    OTHER_FROM_0_TO_1,
    OTHER_RANGES,
    SHARES,
    MeasureName,
    Range,
)
from exam_pp.metrics.trec_measures import trec_eval_names
from exam_pp.metrics.uncertainty import is_outside
from exam_pp.results import ANSWERED

OWN = {
    "Cover", "nCover", "SoftCover", ANSWERED, *NUGGET_METRICS, LENGTH,
}  # fmt: skip


def test_every_measure_has_a_range_or_none_on_purpose() -> None:
    assert len(SHARES | OTHER_FROM_0_TO_1 | OTHER_RANGES) == len(SHARES) + len(OTHER_FROM_0_TO_1) + len(
        OTHER_RANGES
    )
    assert OWN | registry.keys() <= SHARES | OTHER_FROM_0_TO_1 | OTHER_RANGES


@pytest.mark.parametrize(
    ("metric", "bounds"),
    [
        *((name, (0.0, 1.0)) for name in (
            str(Cover(4, 20)), str(Cover(4, 20, normalised=True)), str(SoftCover(4, 20)),
            *trec_eval_names(["nDCG@10", "AP", "AP@5", "P@10", "R@20", "RR", "IPrec@0.1"]).values(),
            "nDCG(min_grade=4)@10", "P(rel=2)@10[human:ann]", "mean(nDCG@10)", "adjusted(RR)", "V_strict",
        )),
        *((name, None) for name in (
            "variance(RR)", "cv(RR)", "MeanLabel@3", "NumRet", "L", "elo", "P-value", "num_rel", "unknown@10",
        )),
    ],
)  # fmt: skip
def test_parameters_graders_and_repeats_keep_the_range(metric: str, bounds: Range | None) -> None:
    assert MeasureName(metric).range == bounds


@pytest.mark.parametrize(
    ("value", "bounds", "outside"),
    [
        (0.0, (0, 1), False), (1 + 9e-10, (0, 1), False), (-9e-10, (0, 1), False), (1.00001, (0, 1), True),
        (-1e-8, (0, 1), True), (5 + 4e-9, (0, 5), False), (-0.5, (-1, 1), False),
        (float("inf"), (0, 1), True),
    ],
)  # fmt: skip
def test_rounding_errors_are_not_outside(value: float, bounds: Range, outside: bool) -> None:
    assert is_outside(value, bounds) is outside
