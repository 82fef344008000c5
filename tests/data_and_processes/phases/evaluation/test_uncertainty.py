"""Leaderboards with intervals, letters and bounds: columns and notes."""

from __future__ import annotations

from pathlib import Path

from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.leaderboards import Statistics, uncertainty


def test_real_leaderboard(shared_data: Path) -> None:
    """TREC DL 2019: neural systems and BM25 differ on the judgments of GPT-4, neural ones do not."""
    folder = shared_data / "dl19-gpt4"
    evaluation = cover(
        folder / "dl19-graded.jsonl.gz", bank=folder / "dl19-gpt4-questions.jsonl.gz", min_grade=3
    )
    actual = uncertainty(evaluation, Statistics("queries", significance=True)).systems
    metric = "Cover(min_grade=3)@20"

    assert (actual["BM25", metric].first, actual["BM25", metric].last) == (3, 6)
    assert set(actual["REP_LLAMA", metric].letters or "") & set(actual["OPEN_AI_ADA2", metric].letters or "")
    assert not set(actual["D_BERT_KD_TASB", metric].letters or "") & set(actual["BM25", metric].letters or "")
