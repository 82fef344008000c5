"""Choice of the grader that fits a prompt."""

from __future__ import annotations

from typing import Any

from exam_pp.data_model import DirectGrade, RubricGrades
from exam_pp.errors import SelectionError
from exam_pp.graders.base import Grader
from exam_pp.graders.listwise import MAX_NEW_TOKENS, REPAIRS, AssignmentGrader
from exam_pp.graders.rubric import DirectGrader, RubricGrader
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS
from exam_pp.prompts.base import Prompt, Unparsed
from exam_pp.prompts.nuggets import is_listwise

RATING_TOKENS = 64
"""Default number of new tokens in a rating of a chat model, which states its rating in the first sentence."""


def make_grader(
    prompt: Prompt,
    model: str,
    options: dict[str, Any],
    unparsed: Unparsed = "default",
    soft: bool = True,
    repairs: int = REPAIRS,
) -> Grader[RubricGrades | DirectGrade]:
    """Make the grader for the prompt's kind; raises :class:`SelectionError` if it does not grade passages.

    ``model`` and ``options`` are recorded with the grades. ``repairs`` is the maximal number of repeated
    calls for a list that cannot be read.
    """
    is_short = unparsed == "chat" and prompt.labels and not prompt.keeps_whole_reply
    limit = RATING_TOKENS if is_short else DEFAULT_MAX_NEW_TOKENS
    options = _recorded(options, MAX_NEW_TOKENS if is_listwise(prompt) else limit)
    if prompt.kind == "direct":
        return DirectGrader(prompt, model, options, unparsed, soft, limit)
    if prompt.kind in ("question", "nugget"):
        return RubricGrader(prompt, model, options, unparsed, soft, limit)
    if prompt.kind == "assignment":
        return AssignmentGrader(prompt, model, options, unparsed, soft, limit, repairs=repairs)
    users = {
        "verification": "verify-answers",
        "claim": "grade",
        "support": "grade",
        "criteria": "grade",
        "generate": "generate",
        "query": "generate queries",
        "nuggetize": "nuggetize",
        "answer": "generate answers",
        "pair": "compare",
    }
    hint = f"; `exam-pp {users[prompt.kind]}` uses it" if prompt.kind in users else ""
    raise SelectionError(f"The prompt {prompt.name} does not grade passages{hint}.")


def _recorded(options: dict[str, Any], requested: int) -> dict[str, Any]:
    """Lower ``max_new_tokens`` to the requested number: both the model and the request limit a reply."""
    limit = options.get("max_new_tokens")
    return options if limit is None else options | {"max_new_tokens": min(limit, requested)}
