"""Choice of the grader for a prompt, and the options recorded with its grades."""

from __future__ import annotations

from typing import Any

import pytest

from exam_pp.graders.make import make_grader
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS
from exam_pp.prompts import PROMPTS


@pytest.mark.parametrize(
    ("prompt", "limit", "recorded"),
    [
        ("QuestionSelfRatedUnanswerablePromptWithChoices", 65536, DEFAULT_MAX_NEW_TOKENS),
        ("QuestionSelfRatedUnanswerablePromptWithChoices", 64, 64),
        ("Thomas", 65536, DEFAULT_MAX_NEW_TOKENS),
        ("NuggetAssignment", 65536, 256),
    ],
)
def test_the_actual_limit_of_replies_is_recorded(prompt: str, limit: int, recorded: int) -> None:
    options = {"engine": "e", "max_new_tokens": limit, "exam_pp": "1"}
    grader: Any = make_grader(PROMPTS.get(prompt), "m", options)
    assert grader.options == {**options, "max_new_tokens": recorded}
    assert list(grader.options) == list(options)
    assert options["max_new_tokens"] == limit


def test_a_model_without_a_token_limit_records_none() -> None:
    grader: Any = make_grader(PROMPTS.get("Thomas"), "lexical", {"engine": "lexical"})
    assert grader.options == {"engine": "lexical"}
