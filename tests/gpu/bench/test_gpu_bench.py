"""The benchmarks on a GPU: the same code on tiny models, its count of operations, and lengths of replies."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.bench import gpu
from tests.bench.test_gpu_bench import smoke, torch


@pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no GPU")
def test_the_bench_on_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results = smoke(tmp_path, monkeypatch, "--shapes", "flan-t5-small,llama-tiny")
    assert results["environment"]["device"] != "CPU"
    for result in results["results"]:
        assert all(way["pairs_per_second"] > 0 for way in result["ways"])
    exact = results["results"][0]["verdicts"][-1]
    assert exact["target"].startswith(gpu.EXACT)
    assert exact["verdict"] == "met"
