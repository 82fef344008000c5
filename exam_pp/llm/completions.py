"""OpenAI-compatible completions endpoints, for base models and for models without a chat format.

The pipeline ``openai-completions`` sends the prompt as plain text to ``/v1/completions``: no chat template is
applied. It is for base models behind a server such as vLLM, and for ``gpt-3.5-turbo-instruct``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from exam_pp.llm.chat import plain_text
from exam_pp.llm.encoding import clean
from exam_pp.llm.endpoint import TOP_LOGPROBS, EndpointLLM
from exam_pp.llm.endpoint_replies import Token, member, text_tokens
from exam_pp.llm_requests import Completion, Request

_OPENAI_TOP_LOGPROBS = 5
"""The maximum of api.openai.com for completions."""


class CompletionsLLM(EndpointLLM):
    """A completions endpoint, which continues a prompt.

    As for local base models, a reply that grades ends with its first line, and a prompt with a system part
    raises :class:`exam_pp.errors.ModelError`.
    """

    _expected = "a completion"
    _limit_name = "max_tokens"

    def _create(self, client: Any, arguments: dict[str, Any]) -> Any:
        return client.completions.with_raw_response.create(**arguments)

    def _prompt(self, request: Request) -> dict[str, Any]:
        return {"prompt": clean(plain_text(self.name, request.parts))}

    def _logprobs_arguments(self) -> dict[str, Any]:
        return {"logprobs": _OPENAI_TOP_LOGPROBS if self._transport.is_openai else TOP_LOGPROBS}

    def _read(self, answer: Any, request: Request, has_logprobs: bool) -> Completion:
        # The line is cut here, because models may begin with a line break, at which a server would stop.
        reply = super()._read(answer, request, has_logprobs)
        return replace(reply, text=reply.text.split("\n", 1)[0].rstrip()) if request.one_line else reply

    def _fields(self, choice: Any) -> tuple[str | None, Any, Any]:
        return self._text(choice, "text"), member(choice, "finish_reason"), None

    def _tokens(self, choice: Any) -> Iterator[Token]:
        return text_tokens(choice)
