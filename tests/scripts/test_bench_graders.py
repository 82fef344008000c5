"""The benchmark that makes the tables of the model card."""

from __future__ import annotations

import pytest

from scripts.bench import graders


@pytest.mark.parametrize(
    ("answer", "gold", "f1"),
    [
        ("The Normans.", "normans", 1), ("in the 10th century", "10th and 11th centuries", 2 / 7),
        ("France", "Spain", 0), ("", "Spain", 0),
    ],
)  # fmt: skip
def test_token_f1_is_that_of_squad(answer: str, gold: str, f1: float) -> None:
    """Normalisation and F1 as in the official evaluate-v2.0.py; values computed by hand."""
    assert graders.token_f1(answer, gold) == pytest.approx(f1)
