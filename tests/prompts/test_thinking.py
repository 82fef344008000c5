"""Thinking text of models is not part of their replies."""

from __future__ import annotations

import pytest

from exam_pp.banks import Question
from exam_pp.data_model import RubricGrades
from exam_pp.graders.answer_verification import answers_of
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import STILL_THINKING
from exam_pp.prompts.entry_list import plain_label, read_labels
from exam_pp.prompts.markup import without_thinking


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("4", "4"),
        ("<think>It may be 2.</think>4", "4"),
        ("<think>\n\n</think>\n\n4", "\n\n4"),
        ("<THINKING>2</Thinking> 4", " 4"),
        ("It may be 2.\n</think>\n4", "\n4"),  # the chat template writes <think> into the prompt
        ("<think>2</think><think>3</think>4", "4"),
        ("<think>It may be 2", None),
        ("<think>2</think>\n<think>or 3", None),
        ("I <think> so", "I <think> so"),
        ("[THINK]2[/THINK]4", "4"),
        ("[THINK]2", None),
        ("<|channel>thought\n2<channel|>4", "4"),
    ],
)
def test_without_thinking(reply: str, text: str | None) -> None:
    assert without_thinking(reply) == text


@pytest.mark.parametrize("unparsed", ["default", "ungraded", "published"])
@pytest.mark.parametrize(
    ("name", "reply", "grade"),
    [
        ("QuestionSelfRatedUnanswerablePromptWithChoices", "<think>Rating: 2?</think>\n\n4", 4),
        ("Thomas", "<think>0?</think>2", 2),
        ("GradedRelevance", "<think>final score: 0</think>##final score: 3", 3),
        ("NuggetAssignmentPointwise", "<think>not_support?</think>\nsupport", 2),
    ],
)
def test_ratings(name: str, reply: str, grade: int, unparsed: str) -> None:
    verdict = PROMPTS.get(name).parse(reply, None, unparsed)  # type: ignore[arg-type]
    assert (verdict.rating, verdict.source) == (grade, "number")


@pytest.mark.parametrize(
    ("name", "reply", "correct"),
    [
        ("FagB", "<think>No?</think>Yes", True),
        ("QuestionCompleteConciseUnanswerablePromptWithChoices", "<think>hm</think>unanswerable", False),
        ("QuestionCompleteConcisePromptWithAnswerKey2", "<think>fall or</think> rise", True),
    ],
)
def test_answers(name: str, reply: str, correct: bool) -> None:
    entry = Question(query_id="q", question_id="q/1", question_text="Q?", gold_answers=["rise"])
    assert PROMPTS.get(name).parse(reply, entry, "default").correct == correct


@pytest.mark.parametrize("prompt", ["QuestionSelfRatedPrompt", "FagB", "QuestionGenerationDL"])
def test_thinking_text_without_an_end_stays_ungraded(prompt: str) -> None:
    verdict = PROMPTS.get(prompt).parse("<think>It may be 4, yes", None, "default")
    assert (verdict.rating, verdict.correct, verdict.reason) == (None, False, STILL_THINKING)


def test_labels() -> None:
    assert plain_label("<think>support\nor not</think>\nNot Support") == "not_support"
    assert read_labels("<think>[1]") is None


def test_extracted_answers_are_verified_without_thinking_text() -> None:
    entry = Question(query_id="q", question_id="q/1", question_text="Q?", gold_answers=["rise"])
    grades = RubricGrades(correct=[], wrong=["q/1"], answers=[("q/1", "<think>hm</think>go up")])
    assert list(answers_of(grades, {"q/1": entry})) == [(entry, "go up")]
