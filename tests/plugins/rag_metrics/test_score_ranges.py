"""Ranges of the measures of answers: from 0 to 1."""

from __future__ import annotations

import pytest

from exam_pp.metrics.measures import MeasureName
from exam_pp.plugins.rag_metrics.answers import OF_ANSWERS, OF_PARTS
from exam_pp.plugins.rag_metrics.citations import METRICS
from exam_pp.plugins.rag_metrics.consistency import ROUGE


@pytest.mark.parametrize("measure", [*METRICS, OF_ANSWERS, OF_PARTS, *ROUGE.values()])
def test_every_measure_is_from_0_to_1(measure: str) -> None:
    assert MeasureName(measure).range == (0, 1)
