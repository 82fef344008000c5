"""Direct grading: a label for every passage, from the text of the query."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import TestBank
from exam_pp.cli.main import main
from exam_pp.data_model import DirectGrade, QueryPassages
from exam_pp.llm.fake import FakeLLM
from exam_pp.phases.grading.grade import GradeOptions, GradeSummary, grade
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.prompts import PROMPTS
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import Journal

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
TEXTS = {"q1": "who wrote the text", "007": "where is it from"}


def run(
    passages: Path, llm: FakeLLM, *classes: str, bank: TestBank | None = None, **options: Any
) -> tuple[list[QueryPassages], GradeSummary]:
    summary = GradeSummary()
    graded = grade(
        read_passages(passages),
        bank or TestBank({}),
        Answerer(llm, Journal(None)),
        model=llm.name,
        provenance=llm.provenance(),
        options=GradeOptions(prompts=[PROMPTS.get(name) for name in classes], **options),
        summary=summary,
        query_texts=TEXTS if bank is None else {},
    )
    return list(graded), summary


def direct(queries: list[QueryPassages]) -> list[DirectGrade]:
    return [grade for query in queries for p in query.passages for grade in p.direct_grades or ()]


@pytest.mark.parametrize(
    ("reply", "ratings"), [("Yes.", {"direct": 1}), ("No, because", {"direct": 0}), ("unanswerable", {})]
)
def test_yes_no(tiny_passages: Path, reply: str, ratings: dict[str, int]) -> None:
    queries, summary = run(tiny_passages, FakeLLM(lambda request: reply), "FagB")
    grades = direct(queries)
    assert [grade.entry_ratings() for grade in grades] == [ratings] * 3
    assert [grade.answer for grade in grades] == [reply] * 3
    assert [grade.prompt_type for grade in grades] == ["direct_grading"] * 3
    assert summary.graded + summary.ungraded == summary.pairs == 3
    if not ratings:
        assert grades[0].error is not None
        assert grades[0].error["response"] == reply
        assert "who wrote the text" in grades[0].error["prompt"]


@pytest.mark.parametrize(
    ("reply", "rating"),
    [("2", 2), ("0", 0), ("1: may be partly helpful", 1), ("3", None), ("relevant", None)],
)
def test_replies_to_the_prompt_thomas_without_a_number_stay_ungraded(
    tiny_passages: Path, reply: str, rating: int | None
) -> None:
    queries, _ = run(tiny_passages, FakeLLM(lambda request: reply), "Thomas")
    for label in direct(queries):
        assert label.self_ratings == rating
        assert label.relevance_label == rating
        assert bool(label.error) == (rating is None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--prompt", "FagB"], "--queries or --bank"),
        (["--prompt", RATING], "'self-rated' grades questions"),
        (["--prompt", "FagB", "--queries", "other.json"], "other.json has no text"),
        (["--prompt", "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2", "--bank", "bank.jsonl"],
         "`exam-pp verify-answers`"),
        (["--prompt", "NuggetSelfRatedPrompt", "--bank", "bank.jsonl"],
         "'nugget-self-rated' grades nuggets"),
        (["--prompt", "QuestionCompleteConcisePromptWithAnswerKey2", "--bank", "bank.jsonl"],
         "bank.jsonl: the question 'q1/a' "),
    ],
)  # fmt: skip
def test_bad_input(
    tiny_passages: Path,
    tiny_bank: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.json").write_text(json.dumps({"q9": "another"}))
    with pytest.raises(SystemExit) as stop:
        main(["-q", "grade", str(tiny_passages), "-o", "out.jsonl", "--model", "fake", *options])
    assert stop.value.code == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out.jsonl").exists()


def test_a_prompt_is_needed(tiny_passages: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["-q", "grade", str(tiny_passages), "-o", "-", "--model", "fake"])
    assert stop.value.code == 2
    assert "--prompt or --prompt-file" in capsys.readouterr().err
