"""The scorer of MLflow, in an evaluation of MLflow."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("mlflow", reason="the harness is not installed")

import mlflow
import pandas

import exam_pp

FACTS = {
    "q1": ["Ada Lovelace wrote the notes", "The notes appeared in 1843"],
    "q2": ["Water boils at 100 degrees"],
}
QUERIES = {"q1": "Who wrote the notes?", "q2": "When does water boil?"}


def bank(folder: Path) -> Path:
    path = folder / "bank.jsonl"
    lines = [
        exam_pp.BankLine(
            query_id=query_id, query_text=QUERIES[query_id],
            items=[
                exam_pp.Nugget(query_id=query_id, nugget_id=f"{query_id}/{number}", nugget_text=text)
                for number, text in enumerate(texts)
            ],
        )
        for query_id, texts in FACTS.items()
    ]  # fmt: skip
    exam_pp.write_bank(lines, path)
    return path


def test_an_evaluation_has_the_scores_of_a_study(tmp_path: Path) -> None:
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    answers = {
        "q1": "Ada Lovelace wrote the notes, and the notes appeared in 1843.",
        "q2": "It depends on the pressure.",
    }
    rows = [
        {"inputs": {"question": QUERIES[query_id].upper()}, "outputs": text}
        for query_id, text in answers.items()
    ]
    rows.append({"inputs": {"question": "Another one?"}, "outputs": {"response": "No."}})
    scorer = exam_pp.mlflow_scorer(bank(tmp_path), "lexical")
    table: pandas.DataFrame = mlflow.genai.evaluate(data=rows, scorers=[scorer]).result_df
    feedback = {row["request"]["question"]: row["assessments"][0] for _, row in table.iterrows()}
    other = feedback.pop("Another one?")["feedback"]["error"]["error_message"]
    assert other == "The bank has no query with the id or text of an input (question)."
    values = {question: each["feedback"]["value"] for question, each in feedback.items()}
    study = exam_pp.study(bank=bank(tmp_path), queries=QUERIES, answers={"a": answers}).grade("lexical")
    expected = {score.query_id: score.value for score in reversed(list(study.scores().scores))}
    assert values == {QUERIES[query_id].upper(): value for query_id, value in expected.items()}
    rationale = feedback[QUERIES["q1"].upper()]["rationale"]
    assert "by lexical. Ada Lovelace wrote the notes: support." in rationale
