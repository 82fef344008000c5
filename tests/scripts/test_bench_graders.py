"""The benchmark that makes the tables of the model card."""

from __future__ import annotations

from pathlib import Path

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


@pytest.mark.slow
def test_tables_on_a_small_sample(
    shared_data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--models", "constant", "--sample", "3", "--shared", str(shared_data)]
    monkeypatch.setattr("sys.argv", ["graders", *options])
    graders.main()
    constant = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| constant"))
    assert [cell.strip() for cell in constant.strip("|").split("|")][:4] == [
        "constant",
        "–",
        "0.000",
        "0.500",
    ]
