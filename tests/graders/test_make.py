"""Which grader a prompt gets, and what is recorded with its grades."""

from __future__ import annotations

from typing import Any

import pytest

from exam_pp.graders.make import make_grader
from exam_pp.messages import DEFAULT_MAX_NEW_TOKENS
from exam_pp.prompts import PROMPTS


@pytest.mark.parametrize(
    ("prompt", "possible", "recorded"),
    [
        ("QuestionSelfRatedUnanswerablePromptWithChoices", 65536, DEFAULT_MAX_NEW_TOKENS),
        ("QuestionSelfRatedUnanswerablePromptWithChoices", 64, 64),
        ("Thomas", 65536, DEFAULT_MAX_NEW_TOKENS),
        ("NuggetAssignment", 65536, 256),
    ],
)
def test_the_length_of_replies_is_recorded_as_it_was(prompt: str, possible: int, recorded: int) -> None:
    options = {"engine": "e", "max_new_tokens": possible, "exam_pp": "1"}
    grader: Any = make_grader(PROMPTS.get(prompt), "m", options)
    assert grader.options == {**options, "max_new_tokens": recorded}
    assert list(grader.options) == list(options)
    assert options["max_new_tokens"] == possible


def test_a_grader_without_tokens_has_no_such_limit() -> None:
    grader: Any = make_grader(PROMPTS.get("Thomas"), "lexical", {"engine": "lexical"})
    assert grader.options == {"engine": "lexical"}
