"""Citations on the review page, and a reviewer's labels of citations as grades of a graded file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.grade_filter import AnswerFilter
from exam_pp.phases.review.apply_ratings import apply_ratings
from exam_pp.plugins.rag_metrics.citations import citations
from exam_pp.store.passages.graded_file import read_passages
from tests.phases.review.cited import FULL, NO, answer_lines
from tests.phases.review.test_review_citations import edits_file, human_sets, label

WriteLines = Callable[[str, list[Any]], Path]


@pytest.fixture
def graded(write_jsonl: WriteLines) -> Path:
    return write_jsonl("graded.jsonl", answer_lines())


def test_labels_are_one_set_of_grades_of_the_part(graded: Path, tmp_path: Path) -> None:
    edits = edits_file(graded, label("B", NO, comment="other insects"), label("A", FULL), label("gone", NO))
    output = tmp_path / "out.jsonl"
    summary = apply_ratings(graded, [edits], output)
    assert list(summary.lines()) == ["3 labels of citations added as human:ana."]
    (added,) = human_sets(output)
    assert added == {
        "llm": "human:ana", "llm_options": {}, "prompt_info": {"prompt_class": "CitationSupport"},
        "prompt_type": "support", "comments": {"B": "other insects"},
        "supports": [
            {"citation": "B", "support": NO}, {"citation": "A", "support": FULL},
            {"citation": "gone", "support": NO},
        ],
    }  # fmt: skip
    text = (
        output.read_text(encoding="utf-8")
        .replace(", " + compact(added), "")
        .replace("," + compact(added), "")
    )
    assert json.loads(text) == answer_lines()[0], "everything else stays as it is"

    evaluation = citations(read_passages(output), selection=AnswerFilter(model="human:ana"))
    assert {score.metric: score.value for score in evaluation.scores} == pytest.approx(
        {"citation_precision": 1 / 3, "citation_recall": 1 / 3, "citation_F1": 1 / 3}
    )
    assert not evaluation.best_case, "all citations have a label"


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
