"""The report on citations: order, content and summary."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.grade_filter import AnswerFilter
from exam_pp.plugins.rag_metrics.citation_report import citations
from tests.plugins.rag_metrics.test_citations import FULL, NO, grades, part, source
from tests.reports.review.verification.material import rows_of

Write = Callable[[str, list[Any]], Path]
ANSWER = [
    source("A", "Bees dance in their hives."),
    source("B", "Wasps build nests of paper."),
    source("empty", ""),
    part("rag/q#1", ["A", "B"], grades(A=FULL, B=FULL), text="Bees dance in hives."),
    part("rag/q#2", ["A", "gone", "empty"], grades(A=NO), text="Bees dance and sing."),
    part("rag/q#3", ["B", "A"], grades(B=None), text="Wasps sting."),
]


@pytest.fixture
def graded(write_jsonl: Write) -> Path:
    return write_jsonl("graded.jsonl", [["q", ANSWER], ["r", [part("rag/r#1", [], text="The end.")]]])


def test_doubtful_citations_come_first(graded: Path) -> None:
    rows = rows_of(citations(graded, AnswerFilter(), flat=True))
    assert [(row["part_id"], row["citation"], row["label"]) for row in rows] == [
        ("rag/q#3", "A", "ungraded"),
        ("rag/q#3", "B", "ungraded"),
        ("rag/q#1", "B", FULL),
        ("rag/q#2", "A", NO),
        ("rag/q#1", "A", FULL),
    ]
    assert [row["reason"] for row in rows[:3]] == ["not graded", "no label", None]
    assert [round(row["shared_words"], 2) for row in rows[2:]] == [0.0, 0.67, 1.0]


def test_every_citation_has_its_texts_and_missing_passages_are_counted(
    graded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["-q", "verify", "citations", str(graded), "--limit", "3"])
    text = " ".join(capsys.readouterr().out.split())
    assert "5 citations: 2 full_support, 0 partial_support, 1 no_support, 2 ungraded." in text
    assert "2 citations name passages not in the file, or without text: empty, gone." in text
    assert "rag/q#1 cites B: full_support" in text
    assert "The passage has 0% of the words of the statement." in text
    assert "Wasps build nests of paper." in text
    assert "Bees dance in hives." in text
    assert "2 more citations are not shown." in text
