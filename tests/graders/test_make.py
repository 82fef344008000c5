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
        ("Thomas", None, None),
    ],
)
def test_the_actual_limit_of_replies_is_recorded(
    prompt: str, limit: int | None, recorded: int | None
) -> None:
    """Models such as lexical have none."""
    options: dict[str, Any] = {"engine": "e", "exam_pp": "1"}
    limited = {} if limit is None else {"max_new_tokens": limit}
    grader: Any = make_grader(PROMPTS.get(prompt), "m", options | limited)
    assert grader.options == options | ({} if recorded is None else {"max_new_tokens": recorded})
