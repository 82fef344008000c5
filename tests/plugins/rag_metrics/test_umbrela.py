"""Import and export of answers, nugget assignments, labels of UMBRELA and segments of other tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.formats.base import format_of
from exam_pp.plugins.rag_metrics.umbrela import import_judge_rows
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import written

WriteJsonl = Callable[[str, list[Any]], Path]


Lines = list[dict[str, Any]]


def read_json(path: Path) -> Lines:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


ROW = {
    "model": "gpt-4o", "query": "where is it from", "passage": "Text of  p3.", "prompt": "Judge!",
    "prediction": "##final score: 2", "reasoning": None, "judgment": 2, "result_status": 1,
}  # fmt: skip


Labels = Callable[..., tuple[Any, dict[str, list[tuple[str | None, dict[str, int]]]]]]


@pytest.fixture
def queries(tmp_path: Path) -> Path:
    return written(tmp_path / "queries.tsv", "q1\twho wrote it\n007\twhere is it from\n")


@pytest.fixture
def labels(tiny_passages: Path, queries: Path, write_jsonl: WriteJsonl, tmp_path: Path) -> Labels:
    """Import rows; returns the summary, and model and ratings of the labels of every passage."""

    def imported(*rows: Any) -> Any:
        source = write_jsonl("rows.jsonl", [*rows])
        summary = import_judge_rows([source], tmp_path / "o.jsonl", passages=tiny_passages, queries=queries)
        passages = [p for query in read_passages(tmp_path / "o.jsonl") for p in query.passages]
        grades = {p.passage_id: p.direct_grades or [] for p in passages}
        return summary, {key: [(g.model, g.entry_ratings()) for g in some] for key, some in grades.items()}

    return imported


def test_labels_of_umbrela_are_joined_by_their_texts(labels: Labels) -> None:
    """Whitespace is ignored; an unparsed label is ungraded, not 0, and keeps its prompt."""
    failed = ROW | {"query": "who wrote it", "passage": "Text of p1.", "judgment": 0, "result_status": 0}
    row = ROW | {"reasoning": "since", "cost": 1}
    summary, of_passages = labels(row, failed, ROW | {"passage": "Another text."})
    assert of_passages == {"p3": [("gpt-4o", {"direct": 2})], "p1": [("gpt-4o", {})], "p2": []}
    assert (summary.graded, summary.ungraded, summary.unknown) == (1, 1, [3])
    assert summary.dropped.counts == {"prompts": 1, "reasonings": 1, "field 'cost'": 1}


def test_several_labels_of_umbrela_for_the_same_texts(labels: Labels) -> None:
    """Duplicates are one grade, contradictions are counted, and a failed row never replaces a label."""
    failed, other = ROW | {"judgment": 0, "result_status": 0}, ROW | {"model": "else", "judgment": 0}
    summary, of_passages = labels(failed, ROW, ROW, ROW | {"judgment": 1}, failed, other)
    assert of_passages["p3"] == [("gpt-4o", {"direct": 1}), ("else", {"direct": 0})]
    assert (summary.rows, summary.graded, summary.ungraded) == (6, 2, 0)
    lines = " ".join(summary.lines())
    assert "3 labels are duplicates and used once." in lines
    assert "1 label contradicts an earlier label of the same model; the last label is used (line 4)." in lines


def test_the_format_is_detected(write_jsonl: WriteJsonl) -> None:
    assert format_of(write_jsonl("rows.jsonl", [ROW])).name == "umbrela"
