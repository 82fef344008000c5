"""Conversion of files of AutoNuggetizer and UMBRELA other than banks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.formats.nuggetizer import read_nugget_metrics
from tests.formats.test_nuggetizer import written


def test_real_files(shared_data: Path) -> None:
    """TREC RAG 2024: metrics of 301 topics survive as scores."""
    source = shared_data / "rag24" / "metrics.command-r-plus.jsonl"
    before = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    after = written(read_nugget_metrics(source))

    assert after[:-1] == before[:-1]
    assert after[-1].pop("qid") == before[-1].pop("qid")
    assert after[-1] == pytest.approx(before[-1], abs=1e-9)
