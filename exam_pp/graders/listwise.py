"""Listwise nugget labels: ten nuggets a call, asked again if the reply is not a list of that many labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from exam_pp.messages import Completion, Part, Request
from exam_pp.prompts.base import Prompt
from exam_pp.prompts.entry_list import read_labels
from exam_pp.prompts.nuggets import LABELS_REPAIR, PER_CALL

WRONG_LENGTH = "the reply is not a list of one label for each nugget"
REPAIRS = 2
"""How often a reply that cannot be read is asked for again."""

MAX_NEW_TOKENS = 256
"""Room for ten labels: a label takes about six tokens with its quotes."""


def as_list(texts: Sequence[str]) -> str:
    """Texts as a list that is JSON and Python."""
    return json.dumps(list(texts), ensure_ascii=False)


def label_in_tens(
    texts: Sequence[str], ask: Callable[[Sequence[str]], Request], prompt: Prompt, repairs: int = REPAIRS
) -> Generator[list[Request], list[Completion], list[Completion]]:
    """One completion for each text, in order: its label as the model wrote it, or why it has none.

    ``ask`` makes the request for at most ten texts, and ``prompt`` reads a label. A list of another length is
    never cut to fit: it is asked for again, as are unknown labels, ``repairs`` times at most, each time with
    the reply before. What is still of the wrong length is an error that holds the whole reply; an unknown
    label is what it is. A failed call is not repeated.
    """
    chunks = [texts[start : start + PER_CALL] for start in range(0, len(texts), PER_CALL)]
    found: dict[int, list[Completion]] = {}
    asking = {number: ask(chunk) for number, chunk in enumerate(chunks)}
    for _ in range(repairs + 1):
        replies = yield list(asking.values())
        again: dict[int, Request] = {}
        for (number, request), reply in zip(asking.items(), replies, strict=True):
            labels = _labels(reply, len(chunks[number]))
            unread = _unread(labels, prompt)
            if number not in found or unread <= _unread(found[number], prompt):
                found[number] = labels
            if unread and reply.error is None:
                again[number] = _repair(request, reply, prompt, len(chunks[number]))
        asking = again
        if not asking:
            break
    return [label for number in range(len(chunks)) for label in found[number]]


def _labels(reply: Completion, count: int) -> list[Completion]:
    """The reply as one completion a label."""
    if reply.error is not None:
        return [reply] * count
    labels = read_labels(reply.text)
    if labels is None or len(labels) != count:
        return [replace(reply, error=WRONG_LENGTH)] * count
    return [replace(reply, text=label) for label in labels]


def _unread(labels: Sequence[Completion], prompt: Prompt) -> int:
    return sum(
        label.error is not None or prompt.parse(label.text, None, "default").reason is not None
        for label in labels
    )


def _repair(request: Request, reply: Completion, prompt: Prompt, count: int) -> Request:
    said = Part(reply.text, slot="reply", role="assistant")
    labels = " or ".join(prompt.labels)
    words = LABELS_REPAIR.render({"count": str(count), "labels": labels})
    return replace(request, parts=(*request.parts, said, *words), pairs=0)
