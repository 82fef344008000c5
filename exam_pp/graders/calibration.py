"""Contextual calibration of choices: likelihoods of labels relative to those without a passage.

A model may prefer one label whatever it reads. The likelihoods of the labels are therefore divided by those
for the same prompt with ``N/A`` in place of the passage. Source: Zhao et al., "Calibrate Before Use", 2021,
section 5, with one content-free text.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import TypeVar

from exam_pp.requests import Completion, Request

CONTENT_FREE = "N/A"
"""The text in place of the passage."""

G = TypeVar("G")


def calibrated(
    grading: Generator[list[Request], list[Completion], G],
) -> Generator[list[Request], list[Completion], G]:
    """Run a grading of choices with calibrated replies.

    Each request with labels is sent a second time without its passage; equal requests are asked once.
    """
    replies: list[Completion] | None = None
    while True:
        try:
            requests = next(grading) if replies is None else grading.send(replies)
        except StopIteration as stop:
            result: G = stop.value
            return result
        empty = [_content_free(request) for request in requests]
        answered = yield [*requests, *empty]
        pairs = zip(requests, answered, answered[len(requests) :], strict=False)
        replies = [_calibrated(request.labels, reply, prior) for request, reply, prior in pairs]


def _content_free(request: Request) -> Request:
    parts = tuple(replace(part, text=CONTENT_FREE) if part.may_be_cut else part for part in request.parts)
    return replace(request, parts=parts, pairs=0)


def _calibrated(labels: Sequence[str], reply: Completion, prior: Completion) -> Completion:
    """The choice by likelihoods divided by ``prior``; they keep their sum, the mass of the labels."""
    if reply.error is not None:
        return reply
    if prior.error is not None or not (reply.label_logprobs and prior.label_logprobs):
        return Completion(error=prior.error or "the model gives no likelihoods to calibrate the choice")
    ratios = [a - b for a, b in zip(reply.label_logprobs, prior.label_logprobs, strict=True)]
    if any(map(math.isnan, ratios)) or not math.isfinite(max(ratios)):
        return Completion(error="the likelihoods of the labels cannot be calibrated")
    shift = _log_sum(reply.label_logprobs) - _log_sum(ratios)
    return replace(
        reply,
        text=labels[ratios.index(max(ratios))],
        label_logprobs=tuple(ratio + shift for ratio in ratios),
        definition="calibrated",
    )


def _log_sum(logprobs: Sequence[float]) -> float:
    top = max(logprobs)
    return top + math.log(math.fsum(math.exp(logprob - top) for logprob in logprobs))
