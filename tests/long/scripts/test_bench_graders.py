"""The benchmark that makes the tables of the model card."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.bench import graders


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
