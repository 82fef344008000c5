"""The formulas of the papers, as examples in the docstrings of the metrics."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from exam_pp.metrics import (
    measures,
    trec_measures,
)


@pytest.mark.parametrize(
    ("module", "least"),
    [
        (measures, 2),
        (trec_measures, 6),
    ],
)  # fmt: skip
def test_the_examples_of_the_docstrings(module: ModuleType, least: int) -> None:
    failed, tried = doctest.testmod(module)
    assert (failed, tried >= least) == (0, True)
