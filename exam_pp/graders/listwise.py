"""Listwise nugget labels: ten nuggets in a call, repeated if the reply is not a list of ten labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace

from exam_pp.prompts.base import Prompt
from exam_pp.prompts.entry_list import read_labels
from exam_pp.prompts.nuggets import LABELS_REPAIR, PER_CALL
from exam_pp.requests import Completion, Part, Request

WRONG_LENGTH = "the reply is not a list of one label for each nugget"
REPAIRS = 2
"""Maximal number of repeated calls after a reply that cannot be read."""

MAX_NEW_TOKENS = 256
"""Enough for ten labels: a label takes about six tokens with its quotes."""


def as_list(texts: Sequence[str]) -> str:
    """The texts as a list that is both valid JSON and valid Python."""
    return json.dumps(list(texts), ensure_ascii=False)


def label_in_batches(
    texts: Sequence[str], ask: Callable[[Sequence[str]], Request], prompt: Prompt, repairs: int = REPAIRS
) -> Generator[list[Request], list[Completion], list[Completion]]:
    """Label texts in calls of at most ten.

    ``ask`` makes the request for at most ten texts; ``prompt`` reads a label. If a list has the wrong length
    or unknown labels, the model is shown its reply and asked again, at most ``repairs`` times. A list is
    never cut to the right length. A failed call is not repeated.
    """
    chunks = [texts[start : start + PER_CALL] for start in range(0, len(texts), PER_CALL)]
    best: dict[int, list[Completion]] = {}
    pending = {number: ask(chunk) for number, chunk in enumerate(chunks)}
    for _ in range(repairs + 1):
        replies = yield list(pending.values())
        again: dict[int, Request] = {}
        for (number, request), reply in zip(pending.items(), replies, strict=True):
            labels = _labels(reply, len(chunks[number]))
            unread = _count_unread(labels, prompt)
            if number not in best or unread <= _count_unread(best[number], prompt):
                best[number] = labels
            if unread and reply.error is None:
                again[number] = _repair(request, reply, prompt, len(chunks[number]))
        pending = again
        if not pending:
            break
    return [label for number in range(len(chunks)) for label in best[number]]


def _labels(reply: Completion, count: int) -> list[Completion]:
    """Split a reply into one completion for each label."""
    if reply.error is not None:
        return [reply] * count
    labels = read_labels(reply.text)
    if labels is None or len(labels) != count:
        return [replace(reply, error=WRONG_LENGTH)] * count
    return [replace(reply, text=label) for label in labels]


def _count_unread(labels: Sequence[Completion], prompt: Prompt) -> int:
    return sum(
        label.error is not None or prompt.parse(label.text, None, "default").reason is not None
        for label in labels
    )


def _repair(request: Request, reply: Completion, prompt: Prompt, count: int) -> Request:
    turn = Part(reply.text, slot="reply", role="assistant")
    labels = " or ".join(prompt.labels)
    repair = prompt.repaired_by(LABELS_REPAIR).render({"count": str(count), "labels": labels})
    return replace(request, parts=(*request.parts, turn, *repair), pairs=0)
