"""The benchmarks on a GPU: the same code on tiny models, its count of operations, and lengths of replies."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from exam_pp.llm import huggingface
from scripts.bench import gpu, t5_engines
from tests.bench.test_gpu_bench import smoke


def test_the_bench_on_tiny_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = smoke(tmp_path, monkeypatch, "--shapes", "t5-tiny,llama-tiny", "--tasks", "rating")["results"]
    t5, llama = ({way["way"]: way for way in result["ways"]} for result in results)
    assert set(t5) == {way.name for way in gpu.WAYS["text2text"]}
    assert set(llama) == {way.name for way in gpu.WAYS["text-generation"]}
    for way in [*t5.values(), *llama.values()]:
        assert way["pairs"] >= 1
        assert set(way["replies"]) <= set("012345")
    exact, published = t5[gpu.EXACT]["replies"], t5[gpu.PUBLISHED]["replies"]
    assert all(a == b for a, b in zip(exact, published, strict=False))
    assert f"| {gpu.EXACT}: replies of the published loop | " in capsys.readouterr().out


def test_two_versions_of_the_engine_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "older_version.py"
    old.write_text(Path(huggingface.__file__).read_text("utf-8"), "utf-8")
    output = tmp_path / "results.json"
    command = ["t5_engines", str(old), "--smoke", "--rounds", "1", "--ways", "float32|choose"]
    monkeypatch.setattr(
        "sys.argv", [*command, "--work", str(tmp_path), "--tasks", "rating", "--json", str(output)]
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    t5_engines.main()
    exact, choose = json.loads(output.read_text())["results"]
    assert exact["same"] == "4/4"
    assert choose["same"] == "8/8"
