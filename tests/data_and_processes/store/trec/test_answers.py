"""Reading answers of RAG systems in the formats of evaluation campaigns."""

from __future__ import annotations

from pathlib import Path

from exam_pp.store.trec.answers import read_answers


def test_real_rag24_answers(shared_data: Path) -> None:
    answers = list(read_answers(shared_data / "rag24" / "answers.command-r-plus.jsonl"))
    assert len(answers) == 301
    assert {answer.system for answer in answers} == {"baseline_rag24.test_command-r-plus_top20"}
    assert answers[0].parts[0].citations == (
        "msmarco_v2.1_doc_11_1429319552#2_3022858430",
        "msmarco_v2.1_doc_11_1429319552#1_3022856821",
        "msmarco_v2.1_doc_11_1429319552#4_3022862229",
    )


def test_real_autojudge_reports(shared_data: Path) -> None:
    folder = shared_data / "importers" / "autojudge-kiddie" / "runs" / "repgen"
    answers = [answer for file in sorted(folder.iterdir()) for answer in read_answers(file)]
    assert {answer.system for answer in answers} == {"run1", "run2", "run3", "run4"}
    assert answers[0].parts[1].citations == ("Autumn_leaf_color",)
