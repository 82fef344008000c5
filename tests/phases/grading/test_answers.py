"""Extracted answers: compared with an answer key, verified by a model, and read again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.data_model import RubricGrades
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.fake import FakeLLM
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import GradeFiles, grade_file
from exam_pp.phases.grading.reread import reread
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.answer_key import with_answer_match
from exam_pp.prompts.base import AnswerMatch
from exam_pp.store.passages.graded_file import read_passages

WriteLines = Callable[[str, list[Any]], Path]


KEY = "QuestionCompleteConcisePromptWithAnswerKey2"


RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"


QUESTIONS = {
    "water": ("During very wet times, the water table will", ["rise"]),
    "layer": ("Outer layer of the skin?", ["epidermis"]),
    "all": ("Earth science is the study of", ["all of the above"]),
    "none": ("Who was the first king of the moon?", []),
    "fact": ("Is water wet?", ["true"]),
}


REPLIES = {
    "water": "increase",
    "layer": "The epidermis.",
    "all": "everything",
    "none": "unanswerable",
    "fact": "Yes",
}


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


def answering(replies: dict[str, str]) -> FakeLLM:
    texts = {text: replies[key] for key, (text, _) in QUESTIONS.items() if key in replies}
    return FakeLLM(lambda request: texts[request.slot("question") or ""])


@pytest.fixture
def graded(passages: Path, bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Answers that are compared by the strict rule."""
    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: answering(REPLIES))
    return grade_answers(passages, bank, tmp_path / "graded.jsonl", "strict")


def grade_answers(passages: Path, bank: Path, output: Path, match: AnswerMatch) -> Path:
    options = GradeOptions(prompts=[with_answer_match(PROMPTS.get(KEY), match)])
    grade_file(GradeFiles(passages, output, bank), ModelOptions("fake"), options)
    return output


def sets(path: Path) -> list[RubricGrades]:
    return [g for query in read_passages(path) for p in query.passages for g in p.rubric_grades or ()]


def test_answers_are_compared_with_the_key(graded: Path, caplog: pytest.LogCaptureFixture) -> None:
    (grades,) = sets(graded)
    assert grades.entry_ratings() == {"water": 0, "layer": 1, "none": 1, "fact": 1}
    assert grades.self_ratings is None
    assert grades.relevance_label == 3
    info = grades.prompt_info or {}
    assert (info["check_answer_key"], info["answer_match"]) == (True, "strict")
    warnings = [record.getMessage() for record in caplog.get_records("setup")]
    assert any("all of the above" in text and text.endswith(": all") for text in warnings)


def test_grades_by_another_rule_are_kept_and_reported(
    graded: Path, bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = GradeOptions(prompts=[PROMPTS.get(KEY)])
    summary = grade_file(GradeFiles(graded, tmp_path / "out.jsonl", bank), ModelOptions("fake"), options)
    assert (summary.graded, summary.reused, dict(summary.other_options)) == (1, 4, {("--answer-match",): 4})
    assert any("`exam-pp reread` compares them again" in line for line in summary.lines())


def test_stored_answers_are_compared_by_another_rule_without_a_model(
    passages: Path, bank: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EXAM++, section 4.2.1: the paper compares every extracted answer; "Yes" is not "true"."""
    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", lambda _options: answering(REPLIES))
    paper = grade_answers(passages, bank, tmp_path / "paper.jsonl", "paper")
    strict, again = tmp_path / "strict.jsonl", tmp_path / "again.jsonl"
    main(["-q", "reread", str(paper), "-o", str(strict), "--bank", str(bank), "--answer-match", "strict"])
    (grades,) = sets(strict)
    assert grades.entry_ratings() == {"water": 0, "layer": 1, "none": 1, "fact": 1}
    assert (grades.prompt_info or {})["answer_match"] == "strict"
    main(["-q", "reread", str(strict), "-o", str(again), "--bank", str(bank)])
    compared = {"water": 0, "layer": 1, "all": 0, "none": 1, "fact": 0}
    assert sets(again)[0].entry_ratings() == sets(paper)[0].entry_ratings() == compared
    assert (sets(again)[0].prompt_info or {})["answer_match"] == "paper"


REPLIES_OF_A_RATER = {"a": "4", "b": "unanswerable", "c": "six months", "d": "The answer is 3"}


@pytest.fixture
def rated(write_jsonl: WriteLines) -> Path:
    """Grades as the published implementation stores them, without sources and prompt hash."""
    stored = {"a": 4, "b": 1, "c": 0, "d": 0}
    ratings = [{"question_id": key, "self_rating": r, "expected": 2.5} for key, r in stored.items()]
    return write_jsonl(
        "rated.jsonl",
        [["q", [{"paragraph_id": "p", "text": "Text.", "exam_grades": [{
            "correctAnswered": ["a", "b"], "wrongAnswered": ["c", "d"],
            "answers": [[key, reply] for key, reply in REPLIES_OF_A_RATER.items()],
            "llm": "google/flan-t5-large", "llm_options": {}, "exam_ratio": 0.5,
            "prompt_info": {"prompt_class": RATING, "is_self_rated": True},
            "self_ratings": ratings,
            "prompt_type": "question", "relevance_label": 4, "ours": 1}]}]]],
    )  # fmt: skip


def test_the_papers_rule_for_published_grades(rated: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    summary = reread(rated, output)
    (grades,) = sets(output)
    assert grades.entry_ratings() == {"a": 4, "b": 0, "c": 1, "d": 3}
    assert [r.source for r in grades.self_ratings or ()] == [None, "reread", "reread", "reread"]
    assert [r.expected for r in grades.self_ratings or ()] == [2.5] * 4
    assert (grades.correct, grades.wrong) == (["a", "c", "d"], ["b"])
    assert (grades.exam_ratio, grades.relevance_label) == (0.75, 4)
    assert json.loads(output.read_text())[1][0]["exam_grades"][0]["ours"] == 1
    assert (summary.read, summary.changed, summary.ungraded) == (4, 3, 0)
    again = tmp_path / "again.jsonl"
    assert reread(output, again).changed == 0
    assert sets(again)[0].entry_ratings() == grades.entry_ratings()
    sources = [r.source for r in sets(again)[0].self_ratings or ()]
    assert sources == [None, "default-0", "default-1", "number"], "the present reading, as nothing changed"


def test_policies_can_be_applied_in_any_order(rated: Path, tmp_path: Path) -> None:
    ungraded, published = tmp_path / "ungraded.jsonl", tmp_path / "published.jsonl"
    reread(rated, ungraded, unparsed="ungraded")
    (grades,) = sets(ungraded)
    assert grades.entry_ratings() == {"a": 4, "d": 3}
    assert sorted(grades.errors or ()) == ["b", "c"]
    reread(ungraded, published, unparsed="published")
    assert sets(published)[0].entry_ratings() == sets(rated)[0].entry_ratings()
    reread(published, ungraded)
    assert sets(ungraded)[0].entry_ratings() == {"a": 4, "b": 0, "c": 1, "d": 3}


def test_grades_without_a_rating_have_no_label(rated: Path, tmp_path: Path) -> None:
    """A key without a value is left out, as in published files."""
    line = json.loads(rated.read_text())
    (grades,) = line[1][0]["exam_grades"]
    grades |= {"answers": [["c", "Paris"]], "self_ratings": [{"question_id": "c", "self_rating": 0}]}
    rated.write_text(json.dumps(line) + "\n")
    reread(rated, tmp_path / "ungraded.jsonl", unparsed="ungraded")
    (grades,) = json.loads((tmp_path / "ungraded.jsonl").read_text())[1][0]["exam_grades"]
    assert grades["self_ratings"] == []
    assert "relevance_label" not in grades


def test_grades_of_reviewers_failed_calls_and_unknown_prompts_are_kept(rated: Path, tmp_path: Path) -> None:
    line = json.loads(rated.read_text())
    (grades,) = line[1][0]["exam_grades"]
    keys = ("answers", "self_ratings", "correctAnswered", "wrongAnswered")
    empty: dict[str, list[Any]] = {key: [] for key in keys}
    error = {"response": "", "prompt": "", "failure_reason": "asleep"}
    failed = {**grades, **empty, "llm_response_errors": {"x": error}}
    unread = [
        {**grades, "llm": "human:anna"},
        {**grades, "prompt_info": {"prompt_class": "umbrella"}},
        failed,
    ]
    line[1][0]["exam_grades"] = [*unread, grades]
    rated.write_text(json.dumps(line) + "\n")
    output = tmp_path / "out.jsonl"
    summary = reread(rated, output)
    assert json.loads(output.read_text())[1][0]["exam_grades"][:3] == unread
    assert set(summary.skipped) == {
        (RATING, "a reviewer gave them"),
        ("umbrella", "the prompt is unknown (use --prompt-file)"),
    }
    assert sets(output)[3].entry_ratings()["c"] == 1


def test_published_direct_grades(write_jsonl: WriteLines, tmp_path: Path) -> None:
    """The published tool reads "Yes." as no."""
    old = {
        "correctAnswered": False,
        "llm": "flan",
        "llm_options": {},
        "prompt_info": {"prompt_class": "FagB"},
        "prompt_type": "direct_grading",
    }
    grades = [{**old, "answer": answer} for answer in ("Yes.", "no", "perhaps", "")]
    file = write_jsonl("d.jsonl", [["q", [{"paragraph_id": "p", "text": "Text.", "grades": grades}]]])
    output = tmp_path / "out.jsonl"
    summary = reread(file, output)
    (passage,) = next(read_passages(output)).passages
    ratings = [grade.entry_ratings() for grade in passage.direct_grades or ()]
    assert ratings == [{"direct": 1}, {"direct": 0}, {}, {"direct": 0}]
    assert summary.changed == 2
    again = tmp_path / "again.jsonl"
    reread(output, again)
    assert again.read_bytes() == output.read_bytes()
