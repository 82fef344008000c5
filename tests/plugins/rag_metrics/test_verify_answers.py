"""Extracted answers: compared with an answer key, verified by a model, and read again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import FileSummary, GradeFiles, grade_file
from exam_pp.plugins.rag_metrics.verify_answers import verify_answers
from exam_pp.prompts import PROMPTS
from tests.phases.grading.test_answers import KEY, QUESTIONS, REPLIES, answering, grade_answers, sets

WriteLines = Callable[[str, list[Any]], Path]


VERIFIED = "QuestionCompleteConcisePromptWithT5VerifiedAnswerKey2"


@pytest.fixture
def bank(write_jsonl: WriteLines) -> Path:
    items = [
        {"query_id": "q", "question_id": key, "question_text": text, "gold_answers": golds}
        for key, (text, golds) in QUESTIONS.items()
    ]
    return write_jsonl("bank.jsonl", [{"query_id": "q", "items": items}])


@pytest.fixture
def passages(write_jsonl: WriteLines) -> Path:
    return write_jsonl("passages.jsonl", [["q", [{"paragraph_id": "p", "text": "The skin."}]]])


@pytest.fixture
def graded(passages: Path, bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answers that are compared by the strict rule."""
    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: answering(REPLIES))
    return grade_answers(passages, bank, tmp_path / "graded.jsonl", "strict")


def verify(
    graded: Path, bank: Path, output: Path, llm: FakeLLM, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> FileSummary:
    monkeypatch.setattr("exam_pp.plugins.rag_metrics.verify_answers.load_llm", lambda _options: llm)
    files = GradeFiles(graded, output, bank)
    default = {} if options.get("only_model") else {"only_model": False, "answer_match": "strict"}
    policy: dict[str, Any] = default | options
    return verify_answers(files, ModelOptions("fake"), policy.pop("answers", GradeFilter()), **policy)


def test_a_model_verifies_answers_whose_text_does_not_match(
    graded: Path, bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EXAM++ (Farzi and Dietz, 2024), section 4.2.1: "increase" is as right as "rise"."""
    seen: list[Request] = []

    def script(request: Request) -> str:
        seen.append(request)
        return "yes"

    output = tmp_path / "verified.jsonl"
    summary = verify(graded, bank, output, FakeLLM(script, "verifier"), monkeypatch)
    (request,) = seen
    assert request.text == (
        'For the question "During very wet times, the water table will" the correct answer is "rise". '
        'Is "increase" an equally correct response to this question? Answer yes or no.'
    )
    old, new = sets(output)
    assert old == sets(graded)[0]
    assert new.entry_ratings() == {"water": 1, "layer": 1, "none": 1, "fact": 1}
    info = new.prompt_info or {}
    assert (new.model, info["prompt_class"], info["orig_prompt_class"]) == ("verifier", VERIFIED, KEY)
    assert info["answers_by"]["llm"] == "fake"
    assert dict(new.answers)["water"] == "increase"
    assert new.verifications == [["water", "yes"]]
    assert (summary.graded, summary.ungraded, summary.asked) == (4, 0, 1)


def test_the_model_verifies_every_answer(
    graded: Path, bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also answers that match and, unlike the words, gold answers that refer to other choices."""
    words, output = tmp_path / "words.jsonl", tmp_path / "verified.jsonl"
    verify(graded, bank, words, FakeLLM(lambda request: "yes", "verifier"), monkeypatch)
    llm = FakeLLM(lambda request: "no", "verifier")
    summary = verify(words, bank, output, llm, monkeypatch, only_model=True)
    _, before, new = sets(output)
    assert new.entry_ratings() == {"water": 0, "layer": 0, "none": 1, "fact": 0}
    assert ((new.prompt_info or {})["verified_by"], summary.asked, summary.reused) == ("model", 3, 0)
    policy = before.prompt_info or {}
    assert (policy["verified_by"], policy["answer_match"]) == ("words or model", "strict")
    summary = verify(output, bank, tmp_path / "again.jsonl", llm, monkeypatch, only_model=True)
    assert (summary.pairs, summary.reused) == (0, 4)


@pytest.mark.parametrize(
    ("reply", "rating"),
    [("no", 0), ("No.", 0), ("who knows", None), (Completion(error="the server is asleep"), None)],
)
def test_verification_replies_of_no_and_unreadable_replies(
    graded: Path,
    bank: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reply: str | Completion,
    rating: int | None,
) -> None:
    output = tmp_path / "verified.jsonl"
    verify(graded, bank, output, FakeLLM(lambda request: reply), monkeypatch)
    grades = sets(output)[-1]
    assert grades.entry_ratings().get("water") == rating
    assert (grades.error_of("water") is None) == (rating is not None)


def test_answers_of_several_prompts_need_a_choice(
    passages: Path, bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = tmp_path / "both.jsonl"
    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: answering(REPLIES))
    other = "QuestionCompleteConciseUnanswerablePromptWithChoices"
    prompts = [PROMPTS.get(KEY), PROMPTS.get(other)]
    grade_file(GradeFiles(passages, both, bank), ModelOptions("fake"), GradeOptions(prompts=prompts))
    output = tmp_path / "verified.jsonl"
    with pytest.raises(SelectionError, match="--grades answers-grader"):
        verify(both, bank, output, FakeLLM(), monkeypatch)
    assert not output.exists()
    verify(both, bank, output, FakeLLM(lambda r: "no"), monkeypatch, answers=GradeFilter(prompt_class=other))
    assert (sets(output)[-1].prompt_info or {})["orig_prompt_class"] == other
