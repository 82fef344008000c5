"""What tests ask models, and the replies in the order of the requests."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any

import pytest

from exam_pp.errors import ModelError
from exam_pp.llm import LLM, ModelOptions, load_llm
from exam_pp.llm_requests import Completion, Part, Request
from tests.llm.endpoint_server import Script, Server, serve

LABELS = tuple("012345")
HAS_CTRANSLATE2 = all(map(importlib.util.find_spec, ("exam_pp.plugins.ctranslate2", "ctranslate2")))
ENGINES = [
    "transformers",
    pytest.param("ctranslate2", marks=pytest.mark.skipif(not HAS_CTRANSLATE2, reason="the fast extra")),
]


def rate(text: str, labels: tuple[str, ...] = (), max_new_tokens: int = 7, **more: Any) -> Request:
    """A request to rate a text that may be shortened."""
    parts = (Part("Rate: "), Part(text, "context", may_be_cut=True))
    return Request(parts, labels, max_new_tokens, **more)


def answers(llm: LLM, requests: Sequence[Request], batches: Any = None) -> list[Completion]:
    replies = dict(llm.generate(requests, batches))
    return [replies[index] for index in sorted(replies)]


def ask(options: ModelOptions, requests: Sequence[Request]) -> list[Completion]:
    return answers(load_llm(options), requests)


def texts(replies: Sequence[Completion]) -> list[str]:
    return [reply.text for reply in replies]


def served(
    script: Script, requests: Sequence[Request], pipeline: Any = "openai", **options: Any
) -> tuple[list[Completion], Server]:
    """The replies of an endpoint with this script, and the server after its end."""
    with serve(script) as server:
        return ask(ModelOptions("some-model", pipeline, base_url=server.url, **options), requests), server


def refused(
    script: Script, requests: Sequence[Request], pipeline: Any = "openai", **options: Any
) -> tuple[str, Server]:
    """The sentence with which an endpoint with this script stops a run, and the server after its end."""
    with serve(script) as server, pytest.raises(ModelError) as caught:
        ask(ModelOptions("some-model", pipeline, base_url=server.url, **options), requests)
    assert "\n" not in str(caught.value)
    return str(caught.value), server
