"""The default cutoff of a file, and notes on rankings that are not complete down to the cutoff."""

from __future__ import annotations

from pathlib import Path

from exam_pp.phases.evaluation.cover import cover


def test_nothing_changes_for_deep_rankings(shared_data: Path) -> None:
    folder = shared_data / "dl19-gpt4"
    files = folder / "dl19-graded.jsonl.gz", folder / "dl19-gpt4-questions.jsonl.gz"

    assert cover(*files).scores == cover(*files, cutoff=20).scores
