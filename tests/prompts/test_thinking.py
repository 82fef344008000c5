"""Thinking text of models is not part of their replies."""

from __future__ import annotations

import pytest

from exam_pp.banks import Question
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import STILL_THINKING, Unparsed
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
    ("name", "reply", "rating", "correct"),
    [
        ("QuestionSelfRatedUnanswerablePromptWithChoices", "<think>Rating: 2?</think>\n\n4", 4, True),
        ("Thomas", "<think>0?</think>2", 2, True),
        ("GradedRelevance", "<think>final score: 0</think>##final score: 3", 3, True),
        ("NuggetAssignmentPointwise", "<think>not_support?</think>\nsupport", 2, True),
        ("FagB", "<think>No?</think>Yes", None, True),
        (
            "QuestionCompleteConciseUnanswerablePromptWithChoices",
            "<think>hm</think>unanswerable",
            None,
            False,
        ),
        ("QuestionCompleteConcisePromptWithAnswerKey2", "<think>fall or</think> rise", None, True),
    ],
)
def test_replies(name: str, reply: str, rating: int | None, correct: bool, unparsed: Unparsed) -> None:
    entry = Question(query_id="q", question_id="q/1", question_text="Q?", gold_answers=["rise"])
    verdict = PROMPTS.get(name).parse(reply, entry, unparsed)
    assert (verdict.rating, verdict.correct) == (rating, correct)
    assert rating is None or verdict.source == "number"


@pytest.mark.parametrize("prompt", ["QuestionSelfRatedPrompt", "FagB", "QuestionGenerationDL"])
def test_thinking_text_without_an_end_stays_ungraded(prompt: str) -> None:
    verdict = PROMPTS.get(prompt).parse("<think>It may be 4, yes", None, "default")
    assert (verdict.rating, verdict.correct, verdict.reason) == (None, False, STILL_THINKING)


def test_labels() -> None:
    assert plain_label("<think>support\nor not</think>\nNot Support") == "not_support"
    assert read_labels("<think>[1]") is None
