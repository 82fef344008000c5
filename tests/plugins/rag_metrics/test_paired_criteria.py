"""Paired tests between two systems by criterion: values of SciPy, Holm, missing ratings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from tests.phases.analysis.criteria_files import answer

WriteLines = Callable[[str, list[Any]], Path]


RATINGS = {
    "completeness": ([0, 1, 0, 1, 0, 1, 1, 0], [1, 2, 1, 2, 2, 2, 1, 1]),
    "precision": ([2, 2, 1, 2, 1, 2, 2, 1], [2, 1, 1, 2, 2, 1, 1, 1]),
    "relevance": ([2, 2, 2, 2, 2, 2, 2, 2], [2, 2, 2, 2, 2, 2, 2, 2]),
}


def rated(write_jsonl: WriteLines, **more: Any) -> Path:
    lines = []
    for query in range(8):
        answers = [
            answer(
                f"q{query}",
                system,
                {"human:ann": {name: side[position][query] for name, side in RATINGS.items()}} | more,
            )
            for position, system in enumerate(("RAG", "RAGF"))
        ]
        lines.append([f"q{query}", answers])
    return write_jsonl("rated.jsonl", lines)


def test_the_command(write_jsonl: WriteLines, capsys: pytest.CaptureFixture[str]) -> None:
    path = rated(write_jsonl, gpt={"completeness": 1})
    main(
        [
            "analyze",
            "distributions",
            str(path),
            "--grader",
            "human:ann",
            "--system",
            "RAGF",
            "--system",
            "RAG",
        ]
    )
    out = capsys.readouterr().out
    assert "RAGF" in out
    assert "completeness" in out
    assert "model human:ann; prompt Criteria; 8 queries" in " ".join(out.split())
