"""The benchmark of the causal engines runs, and all ways give the same replies."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ctranslate2")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_bench_of_causal_engines_on_a_tiny_model(tmp_path: Path, repository: Path) -> None:
    output = tmp_path / "causal.json"
    command = [sys.executable, "-m", "scripts.bench.causal", "--smoke", "--tasks", "rating"]
    run = subprocess.run(
        [*command, "--work", str(tmp_path / "work"), "--json", str(output)],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    replies = [way["rounds"][-1]["replies"] for way in json.loads(output.read_text())["tasks"]["rating"]]
    assert len(replies) == 7
    assert len(set(replies[0])) > 2
    assert all(way == replies[0] for way in replies)
