"""Graders without a model that every judge must beat: random and constant ratings.

:class:`Baseline` is what they share with the lexical grader (:mod:`exam_pp.llm.lexical`): which scale a
request asks for, which texts it compares, and answering request by request.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import Any

from exam_pp.llm.base import Batch
from exam_pp.llm.batch_plan import batches_in_order
from exam_pp.messages import Completion, Request
from exam_pp.test_bank import ASSIGNMENT_RATINGS

UNANSWERABLE = "unanswerable"
"""The published reply when the passage holds no answer."""

_ENTRY_SLOTS = ("question", "nugget", "query")
_SCALE_LINE = re.compile(r"^\W*(\d)\s*[:=]", re.MULTILINE)
_YES_NO = re.compile(r"\byes\b.{1,40}\bno\b", re.IGNORECASE | re.DOTALL)
_ASSIGNMENT = re.compile(r"\bas support, partial_support, or not_support\b")
ASSIGNMENTS = tuple(ASSIGNMENT_RATINGS)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[.!?][\"'”’)\]])\s+|\n+")


def sentences(text: str) -> list[str]:
    """The sentences of a text, each a substring of it, without the white space around them."""
    return [span.strip() for span in _SENTENCE_END.split(text) if span.strip()]


def scale_of(request: Request) -> tuple[str, ...]:
    """The answer scale, lowest label first; empty where the prompt asks for free text.

    Requests name their scale when they want soft grades; otherwise it is read from the prompt's own
    words: lines such as ``- 5: ...``, "yes or no", or the labels of an assignment.
    """
    if request.labels:
        return request.labels
    words = "".join(part.text for part in request.parts if part.slot is None)
    if digits := _SCALE_LINE.findall(words):
        return tuple(sorted(set(digits)))
    if _ASSIGNMENT.search(words):
        return ASSIGNMENTS
    return ("no", "yes") if _YES_NO.search(words) else ()


def entry_of(request: Request) -> tuple[str, str] | None:
    """The slot and the text that the passage is held against: a question, a nugget or the query."""
    for slot in _ENTRY_SLOTS:
        if text := request.slot(slot):
            return slot, text
    return None


class Baseline(ABC):
    """A grader that answers each request by itself, without weights; subclasses say how."""

    name = "baseline"
    batch_size = 256

    def provenance(self) -> dict[str, Any]:
        """What decides the replies."""
        return {"engine": self.name, "baseline": True}

    @abstractmethod
    def reply(self, request: Request) -> Completion:
        """The reply to one request: a pure function of it (and of what was learned)."""

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """Batches of a fixed size, in the order given."""
        return batches_in_order(len(requests), self.batch_size)

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """Answer request by request."""
        for batch in self.batches(requests) if batches is None else batches:
            for index in batch:
                yield index, self.reply(requests[index])


class RandomLLM(Baseline):
    """A label, or a sentence of the passage, drawn at random; equal requests get equal replies.

    Free text is "unanswerable" half of the time.
    """

    name = "random"

    def reply(self, request: Request) -> Completion:
        """Drawn by a generator that is seeded with the request's hash."""
        random = Random(request.key())
        if labels := scale_of(request):
            return Completion(random.choice(labels))
        spans = sentences(request.slot("context") or "")
        return Completion(random.choice(spans) if spans and random.random() < 0.5 else UNANSWERABLE)


class ConstantLLM(Baseline):
    """Always the middle of the scale (3 of 0 to 5), or the passage's first sentence."""

    name = "constant"

    def reply(self, request: Request) -> Completion:
        """The same for every entry."""
        if labels := scale_of(request):
            return Completion(labels[len(labels) // 2])
        spans = sentences(request.slot("context") or "")
        return Completion(spans[0] if spans else UNANSWERABLE)
