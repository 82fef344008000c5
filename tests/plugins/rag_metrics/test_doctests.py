"""The formulas of the metrics of answers, as examples in their docstrings."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from exam_pp.plugins.rag_metrics import citations, consistency


@pytest.mark.parametrize(("module", "least"), [(citations, 2), (consistency, 8)])
def test_the_examples_of_the_docstrings(module: ModuleType, least: int) -> None:
    pytest.importorskip("rouge_score")
    failed, tried = doctest.testmod(module)
    assert (failed, tried >= least) == (0, True)
