"""Runs and qrels."""

from __future__ import annotations

from pathlib import Path

from exam_pp.store.trec.runs import method_of, read_run, run_files


def test_real_runs(shared_data: Path) -> None:
    files = run_files(shared_data / "dl19-gpt4" / "runs")
    assert [method_of(path) for path in files] == [
        "BM25", "BM25_RM3", "D_BERT_KD_TASB", "OPEN_AI_ADA2", "REP_LLAMA", "SPLADE_P_P_ENSEMBLE_DISTIL",
    ]  # fmt: skip
    assert all(line.rank >= 0 for path in files for line in read_run(path))
