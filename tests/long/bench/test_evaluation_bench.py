"""The benchmark of evaluation runs on small data, and its implementations agree."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scripts.bench import evaluation


def test_all_implementations_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pydantic.v1")
    report = tmp_path / "report.json"
    monkeypatch.setattr("sys.argv", ["evaluation", "--rounds", "1", "--scale", "0.05", "--json", str(report)])
    with pytest.raises(SystemExit, match="False"):
        evaluation.main()
    assert json.loads(report.read_text())["differ"] == []
