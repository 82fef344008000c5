"""The benchmarks of engines run, and replies that must agree are equal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ctranslate2")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def bench(name: str, work: Path, repository: Path) -> tuple[Any, str]:
    """The results of a benchmark on a tiny model, and its standard output."""
    output = work / "results.json"
    command = [sys.executable, "-m", f"scripts.bench.{name}", "--smoke", "--tasks", "rating"]
    run = subprocess.run(
        [*command, "--work", str(work / "work"), "--json", str(output)],
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(output.read_text())["tasks"], run.stdout


def test_the_bench_of_causal_engines_on_a_tiny_model(tmp_path: Path, repository: Path) -> None:
    tasks, _ = bench("causal", tmp_path, repository)
    replies = [way["rounds"][-1]["replies"] for way in tasks["rating"]]
    assert len(replies) == 7
    assert len(set(replies[0])) > 1
    assert all(way == replies[0] for way in replies)


def test_the_bench_of_the_engines_on_a_tiny_model(tmp_path: Path, repository: Path) -> None:
    tasks, printed = bench("engines", tmp_path, repository)
    assert "| target | measured | required | stretch | verdict |" in printed
    assert "replies differ" not in printed
    replies = {way["way"]["name"]: way["rounds"][-1].get("replies") for way in tasks["rating"]}
    published = replies["published loop, inner batch 1"]
    # The trained tokenizer, and with it the replies, differ from process to process.
    assert len(set(published)) > 1
    for engine in ("transformers", "CTranslate2"):
        assert replies[f"{engine}, beam 5"] == replies[f"{engine}, beam 5, soft"] == published
        assert replies[f"{engine}, greedy"] == replies["generate, greedy, one prompt at a time"]
