"""The formulas of the papers, as examples in the docstrings of the metrics."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from exam_pp.metrics import calibration, citations, game_biases, nuggets, repeats, text_similarity


@pytest.mark.parametrize(
    ("module", "least"),
    [(calibration, 2), (citations, 2), (game_biases, 1), (nuggets, 3), (repeats, 4), (text_similarity, 4)],
)
def test_the_examples_of_the_docstrings(module: ModuleType, least: int) -> None:
    pytest.importorskip("rouge_score")
    failed, tried = doctest.testmod(module)
    assert (failed, tried >= least) == (0, True)
