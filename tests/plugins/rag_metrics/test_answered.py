"""Whether answers decline: grading of whole answers, and the share of answered questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import TestBank
from exam_pp.data_model import DirectGrade
from exam_pp.errors import SelectionError
from exam_pp.graders.base import PassageUnit
from exam_pp.graders.rubric import DirectGrader
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.grade import Exam, GradeOptions, count_work, grade
from exam_pp.phases.interchange.import_passages import ImportSources, import_passages
from exam_pp.plugins.rag_metrics.answers import answered
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.direct import ANSWER_ATTEMPT
from exam_pp.store.passages.graded_file import read_passages, write_passages

Write = Callable[[str, list[Any]], Path]
REPLIES = {"It is wet. Very wet.": "Yes", "I cannot say.": "No", "Sorry.": "Well, it depends."}


@pytest.fixture
def answers(tmp_path: Path, write_jsonl: Write) -> Path:
    """Answers in parts: an attempt, refusals, an unreadable verdict, an empty and a missing answer."""

    def line(system: str, query_id: str, *parts: str) -> dict[str, Any]:
        elements = [{"text": part, "citations": [0]} for part in parts]
        return {"run_id": system, "topic_id": query_id, "references": ["d1"], "answer": elements}

    lines = [
        line("a", "q1", "It is wet.", "Very wet."), line("a", "q2", "I cannot say."), line("a", "q3"),
        line("b", "q1", "I cannot say."), line("b", "q2", "Sorry."),
    ]  # fmt: skip
    texts = tmp_path / "texts.tsv"
    texts.write_text("d1\tRain is wet.\n")
    sources = ImportSources(answers=[write_jsonl("answers.jsonl", lines)], texts=[texts], unit="sentence")
    import_passages(sources, tmp_path / "passages.jsonl")
    return tmp_path / "passages.jsonl"


def _answer(requests: list[Request]) -> list[Completion]:
    return [
        Completion(next(reply for text, reply in REPLIES.items() if f"Answer: {text}" in request.text))
        for request in requests
    ]


@pytest.fixture
def graded(answers: Path, tmp_path: Path) -> Path:
    asked: list[str] = []

    def answer(requests: Any) -> Any:
        asked.extend(request.text for request in requests)
        return _answer(list(requests))

    queries = grade(
        read_passages(answers), TestBank.from_lines([]), answer, model="m", provenance={},
        options=GradeOptions((ANSWER_ATTEMPT,)),
        query_texts={"q1": "Is it wet?", "q2": "Is it dry?", "q3": "Is it?"},
    )  # fmt: skip
    write_passages(queries, tmp_path / "graded.jsonl")
    assert len(asked) == 4, "one request for each answer with text, none for retrieved passages"
    return tmp_path / "graded.jsonl"


def test_whole_answers_are_graded_at_their_first_part(answers: Path, graded: Path) -> None:
    with_grades = [
        (passage.passage_id, grades.correct, grades.answer)
        for query in read_passages(graded)
        for passage in query.passages
        for grades in passage.direct_grades or ()
    ]
    assert with_grades == [
        ("a/q1#1", True, "Yes"), ("b/q1#1", False, "No"), ("a/q2#1", False, "No"),
        ("b/q2#1", False, "Well, it depends."), ("a/q3#1", False, ""),
    ]  # fmt: skip
    exam = Exam(TestBank.from_lines([]), {"q1": "?", "q2": "?", "q3": "?"})
    options = GradeOptions((ANSWER_ATTEMPT,))
    assert count_work(read_passages(answers), exam, "m", options).pairs == 5
    counts = count_work(read_passages(graded), exam, "m", options)
    assert (counts.pairs, counts.reused) == (1, 4), "only the unreadable verdict is asked for again"


def test_the_share_of_answered_questions(graded: Path) -> None:
    evaluation = answered(graded)
    assert {(s.system, s.query_id): s.value for s in evaluation.scores} == {
        ("a", "q1"): 1.0, ("a", "q2"): 0.0, ("a", "q3"): 0.0, ("b", "q1"): 0.0,
    }  # fmt: skip
    assert evaluation.notes == [
        "b: 1 answer (q2) without a verdict, not in its share.",
        "b: no answer to 1 query (q3), not in its share.",
    ]
    assert len(answered(graded, queries=["q1"]).scores) == 2


def test_no_verdicts_or_answers(answers: Path, tiny_passages: Path) -> None:
    with pytest.raises(SelectionError, match="exam-pp grade"):
        answered(answers)
    with pytest.raises(SelectionError, match="import --answers"):
        answered(tiny_passages)


def test_an_empty_text_declines_only_as_an_answer() -> None:
    def graded_without_request(name: str) -> DirectGrade:
        grading = DirectGrader(PROMPTS.get(name), "m", {}).run(PassageUnit("q", "Q?", "p", " ", []))
        with pytest.raises(StopIteration) as stop:
            next(grading)
        assert isinstance(stop.value.value, DirectGrade)
        return stop.value.value

    assert graded_without_request("AnswerAttempt").entry_ratings() == {"direct": 0}
    assert graded_without_request("FagB").entry_ratings() == {}


def test_only_one_role_is_graded(answers: Path) -> None:
    """Relevance labels are for what systems retrieved."""
    prompt = PROMPTS.get("GradedRelevance")
    exam = Exam(TestBank.from_lines([]), {"q1": "?", "q2": "?", "q3": "?"})
    for role, expected in (("retrieved", 3), ("answer", 6), (None, 9)):
        options = GradeOptions((prompt,), role=role)  # type: ignore[arg-type]
        assert count_work(read_passages(answers), exam, "m", options).pairs == expected
