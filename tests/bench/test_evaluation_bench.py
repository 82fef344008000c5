"""The benchmark of evaluation runs on small data, and its implementations agree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_all_implementations_agree(repository: Path, tmp_path: Path) -> None:
    pytest.importorskip("pydantic.v1")
    report = tmp_path / "report.json"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "scripts.bench.evaluation",
            "--rounds",
            "1",
            "--scale",
            "0.05",
            "--json",
            report,
        ],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(report.read_text())["differ"] == []
