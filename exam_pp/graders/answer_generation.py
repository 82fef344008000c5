"""Generation of answers: one request for each query, with passages as numbered contexts."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

from exam_pp.prompts.base import CUT_SLOT, Prompt
from exam_pp.prompts.thinking import without_thinking
from exam_pp.requests import Completion, Request

MAX_NEW_TOKENS = 1024
"""Enough for an article of about 750 words."""


@dataclass(frozen=True)
class AnswerUnit:
    """A query to answer, and its contexts as pairs of passage id and text, best first."""

    query_id: str
    query_text: str
    contexts: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True)
class GeneratedAnswer:
    """The reply of a model as the text of an answer, or the ``reason`` why the text is empty.

    ``failed`` is True if there is no reply. ``tokens_cut`` is the number of tokens of the contexts that were
    truncated.
    """

    text: str
    reason: str | None = None
    failed: bool = False
    tokens_cut: int = 0


def generate_answer(
    prompt: Prompt, unit: AnswerUnit
) -> Generator[list[Request], list[Completion], GeneratedAnswer]:
    """Send the request, and read the reply without thinking text."""
    numbered = (f"[{number}] {' '.join(text.split())}" for number, (_, text) in enumerate(unit.contexts, 1))
    values = {"query": unit.query_text, CUT_SLOT: "\n".join(numbered)}
    (reply,) = yield [Request(prompt.render(values), max_new_tokens=MAX_NEW_TOKENS)]
    if reply.error:
        return GeneratedAnswer("", reply.error, failed=True)
    reason = prompt.parse(reply.text, None, "default").reason
    text = (without_thinking(reply.text) or "").strip()
    return GeneratedAnswer(text, reason, tokens_cut=reply.tokens_cut)
