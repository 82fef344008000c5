"""The benchmarks of engines run, and replies that must agree are equal."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ctranslate2")


Bench = Callable[[str], tuple[Any, str]]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Run a benchmark on a tiny model: its results, and its standard output."""

    def run(name: str) -> tuple[Any, str]:
        output = tmp_path / "results.json"
        options = ["--smoke", "--tasks", "rating", "--work", str(tmp_path / "work"), "--json", str(output)]
        monkeypatch.setattr("sys.argv", [name, *options])
        import_module(f"scripts.bench.{name}").main()
        return json.loads(output.read_text())["tasks"], capsys.readouterr().out

    return run


def test_the_bench_of_causal_engines_on_a_tiny_model(bench: Bench) -> None:
    tasks, _ = bench("causal")
    replies = [way["rounds"][-1]["replies"] for way in tasks["rating"]]
    assert len(replies) == 7
    assert len(set(replies[0])) > 1
    assert all(way == replies[0] for way in replies)


def test_the_bench_of_the_engines_on_a_tiny_model(bench: Bench) -> None:
    tasks, printed = bench("engines")
    assert "| target | measured | required | stretch | verdict |" in printed
    assert "replies differ" not in printed
    replies = {way["way"]["name"]: way["rounds"][-1].get("replies") for way in tasks["rating"]}
    published = replies["published loop, inner batch 1"]
    # The trained tokenizer, and with it the replies, differ from process to process.
    assert len(set(published)) > 1
    for engine in ("transformers", "CTranslate2"):
        assert replies[f"{engine}, beam 5"] == replies[f"{engine}, beam 5, soft"] == published
        assert replies[f"{engine}, greedy"] == replies["generate, greedy, one prompt at a time"]
