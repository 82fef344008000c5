"""Answer verification: which extracted answers need a call to the model."""

from __future__ import annotations

import pytest

from exam_pp.banks import Question
from exam_pp.data_model import RubricGrades
from exam_pp.llm.fake import FakeLLM
from exam_pp.phases.grading.scheduler import Answerer, run_requests
from exam_pp.plugins.rag_metrics.verify_answers import AnswerVerifier, answers_of
from exam_pp.prompts.rubric import ANSWER_VERIFICATION
from exam_pp.store.passages.journal import Journal


def verified(
    answer: str, *golds: str, only_model: bool = False, says: str = "yes"
) -> tuple[RubricGrades, int]:
    """The grades of an answer with a model that always says the same, and the number of calls."""
    entry = Question(query_id="q", question_id="q/a", question_text="What rises?", gold_answers=list(golds))
    llm = FakeLLM(lambda request: says)
    verifier = AnswerVerifier(ANSWER_VERIFICATION, "m", {}, only_model=only_model)
    (grades,) = run_requests([verifier.run([(entry, answer)])], Answerer(llm, Journal(None)))
    assert isinstance(grades, RubricGrades)
    return grades, llm.calls


@pytest.mark.parametrize("answer", ["b)", "(iii)", "", "unanswerable", "No answer."])
def test_missing_answers_are_wrong_without_a_call(answer: str) -> None:
    grades, calls = verified(answer, "the water table")
    assert (grades.wrong, grades.errors, calls) == (["q/a"], {}, 0)


@pytest.mark.parametrize(("golds", "calls"), [(["the water table"], 0), (["a well", "a lake", "a well"], 2)])
def test_matching_answers_need_no_call_and_others_one_for_each_gold_answer(
    golds: list[str], calls: int
) -> None:
    grades, actual_calls = verified("water tables", *golds)
    assert (grades.correct, actual_calls) == (["q/a"], calls)


@pytest.mark.parametrize(("says", "correct"), [("yes", ["q/a"]), ("no", [])])
@pytest.mark.parametrize("answer", ["b)", "", "unanswerable", "the water table"])
def test_only_the_model_decides(answer: str, says: str, correct: list[str]) -> None:
    """EXAM++ (Farzi and Dietz, 2024), section 4.2.1, asks about every answer."""
    grades, calls = verified(answer, "the water table", only_model=True, says=says)
    assert (grades.correct, calls) == (correct, 1)
    assert (grades.prompt_info or {})["verified_by"] == "model"
    assert "answer_match" not in (grades.prompt_info or {})


def test_the_model_is_asked_about_gold_answers_that_refer_to_choices() -> None:
    grades, calls = verified("everything", "all of the above", only_model=True)
    assert (grades.correct, calls) == (["q/a"], 1)


def test_without_gold_answers_the_model_cannot_be_asked() -> None:
    assert verified("unanswerable", only_model=True, says="no")[1] == 0
    assert verified("unanswerable", only_model=True, says="no")[0].correct == ["q/a"]


def test_unanswerable_is_correct_if_there_are_no_gold_answers() -> None:
    assert verified("unanswerable")[0].correct == ["q/a"]
    assert verified("the water table")[0].wrong == ["q/a"]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [("<think>A well?</think>\nA lake", "\nA lake"), ("A lake", "A lake"), ("<think>A well", "")],
)
def test_thinking_text_is_not_part_of_an_answer(reply: str, answer: str) -> None:
    entry = Question(query_id="q", question_id="q/a", question_text="What rises?", gold_answers=["a lake"])
    unkeyed = Question(query_id="q", question_id="q/b", question_text="Why?")
    grades = RubricGrades(
        model="m", model_options={}, prompt_info={}, prompt_type="question", correct=[], wrong=["q/a"],
        answers=[("q/a", reply), ("q/b", "so"), ("q/c", "so")], errors={}, exam_ratio=0.0,
    )  # fmt: skip
    assert list(answers_of(grades, {"q/a": entry, "q/b": unkeyed})) == [(entry, answer)]
