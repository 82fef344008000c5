"""Soft grades: expected rating and margin from likelihoods of labels, calibrated on request.

Contextual calibration of choices: likelihoods of labels relative to those without a passage.

A model may prefer one label whatever it reads. The likelihoods of the labels are therefore divided by those
for the same prompt with ``N/A`` in place of the passage. Source: Zhao et al., "Calibrate Before Use", 2021,
section 5, with one content-free text.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from exam_pp.llm_requests import Completion, Request

DECIMALS = 4
"""Decimals of soft values. Rounding makes them independent of the batches of requests."""


class SoftGrade(NamedTuple):
    """The expected rating under the probabilities of the labels.

    ``probabilities`` are those of the grades 0, 1, 2 ..., renormalised over the scale; ``expected`` is
    Σ r·p(r); ``margin`` is the highest probability minus the second highest. ``mass`` is the probability of
    all labels together, before it is renormalised.
    """

    expected: float
    margin: float
    probabilities: list[float]
    mass: float


def soft_grade(label_logprobs: Sequence[float]) -> SoftGrade | None:
    """Compute the soft grade from the log-probabilities of the labels 0, 1, 2 ...

    Returns None for fewer than two labels, and for NaN or +inf, which a model returns after an overflow.
    −inf stands for an impossible label and is allowed.
    """
    if len(label_logprobs) < 2 or any(map(math.isnan, label_logprobs)):
        return None
    top = max(label_logprobs)
    if not math.isfinite(top):
        return None
    weights = [math.exp(logprob - top) for logprob in label_logprobs]
    total = math.fsum(weights)
    probabilities = [weight / total for weight in weights]
    expected = math.fsum(grade * p for grade, p in enumerate(probabilities))
    second, best = sorted(probabilities)[-2:]
    return SoftGrade(
        round(expected, DECIMALS),
        round(best - second, DECIMALS),
        [round(p, DECIMALS) for p in probabilities],
        round(min(1.0, total * math.exp(min(top, 0.0))), DECIMALS),
    )


def soft_fields(reply: Completion) -> dict[str, Any]:
    """The keys of a reply's soft grade in files; empty if the reply has none."""
    soft = soft_grade(reply.label_logprobs)
    return soft._asdict() | {"definition": reply.definition} if soft else {}


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
