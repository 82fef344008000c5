"""Reading answers of RAG systems in the formats of evaluation campaigns."""

from __future__ import annotations

from pathlib import Path

from exam_pp.store.trec.answers import read_answers


def test_real_autojudge_reports(shared_data: Path) -> None:
    folder = shared_data / "importers" / "autojudge-kiddie" / "runs" / "repgen"
    answers = [answer for file in sorted(folder.iterdir()) for answer in read_answers(file)]
    assert {answer.system for answer in answers} == {"run1", "run2", "run3", "run4"}
    assert answers[0].parts[1].citations == ("Autumn_leaf_color",)
