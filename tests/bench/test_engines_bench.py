"""The benchmark of the engines runs, and the replies that it compares are equal where they must be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("ctranslate2")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_bench_of_the_engines_on_a_tiny_model(tmp_path: Path, repository: Path) -> None:
    output = tmp_path / "engines.json"
    command = [sys.executable, "-m", "scripts.bench.engines", "--smoke", "--tasks", "rating"]
    run = subprocess.run(
        [*command, "--work", str(tmp_path / "work"), "--json", str(output)],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "| target | found | must | stretch | verdict |" in run.stdout
    assert "answers differ" not in run.stdout
    (task,) = json.loads(output.read_text())["tasks"]
    replies = {way["way"]["name"]: way["rounds"][-1].get("replies") for way in task["ways"]}
    published = replies["published loop, inner batch 1"]
    assert len(set(published)) > 2
    for engine in ("transformers", "CTranslate2"):
        assert replies[f"{engine}, beam 5"] == replies[f"{engine}, beam 5, soft"] == published
        assert replies[f"{engine}, greedy"] == replies["generate, greedy, one prompt at a time"]
