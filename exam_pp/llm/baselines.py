"""Baselines without a model: random and constant ratings, which every grader must beat.

:class:`Baseline` is also the base class of the lexical grader (:mod:`exam_pp.llm.lexical`): it reads the
scale and the texts from a request and answers request by request.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from exam_pp.banks import ASSIGNMENT_LABELS
from exam_pp.data_model import SUPPORT_LABELS
from exam_pp.llm.base import Batch
from exam_pp.llm.batch_plan import batches_in_order
from exam_pp.llm_requests import Completion, Request
from exam_pp.text.sentences import plain_sentences

UNANSWERABLE = "unanswerable"
"""The published reply for a passage without an answer."""

_ENTRY_SLOTS = ("question", "nugget", "query", "claim")
_SCALE_LINE = re.compile(r"^\W*(\d)\s*[:=]", re.MULTILINE)
_YES_NO = re.compile(r"\byes\b.{1,80}\bno\b", re.IGNORECASE | re.DOTALL)
_ASSIGNMENT = re.compile(r"\bas support, partial_support, or not_support\b")
ASSIGNMENTS = ASSIGNMENT_LABELS
_SUPPORT_LINE = re.compile(rf"^\W*({'|'.join(SUPPORT_LABELS)}):", re.MULTILINE)
VERDICTS, LETTERS = ("[[A]]", "[[B]]", "[[C]]"), ("A", "B", "C")
_VERDICTS = re.compile(r"\[\[[ABC]\]\]")
_LETTER_LINE = re.compile(r"^\W*([ABC]):\s", re.MULTILINE)
RELEVANCE = ("Not relevant", "Somewhat relevant", "Very relevant")
"""The labels of RAGElo's reasoner, lowest first."""
_RELEVANCE_LINE = re.compile(rf"^\W*(?:{'|'.join(RELEVANCE)}):", re.MULTILINE)
_CRITERION_LINE = re.compile(r'^- ("(?:[^"\n])+")\n((?:  - \d+: .*\n)+)', re.MULTILINE)


def answer_scale(request: Request) -> tuple[str, ...]:
    """The labels of the answer scale, lowest first; empty if the prompt asks for free text.

    Requests for soft grades contain the labels. Otherwise the scale is read from the text of the prompt:
    lines such as ``- 5: ...``, ``- full_support: ...`` or ``- Very relevant: ...``, "yes or no", the labels
    of an assignment, or the verdicts of a game.
    """
    if request.labels:
        return request.labels
    text = "".join(part.text for part in request.parts if part.slot is None)
    if _VERDICTS.search(text):
        return VERDICTS
    if tuple(_LETTER_LINE.findall(text)) == LETTERS:
        return LETTERS
    if _RELEVANCE_LINE.search(text):
        return RELEVANCE
    if digits := _SCALE_LINE.findall(text):
        return tuple(sorted(set(digits)))
    if _SUPPORT_LINE.search(text):
        return SUPPORT_LABELS
    if _ASSIGNMENT.search(text):
        return ASSIGNMENTS
    return ("no", "yes") if _YES_NO.search(text) else ()


def criteria_of(request: Request) -> dict[str, int]:
    """The name of each criterion of a request for criteria to its highest level; empty for other requests."""
    if request.slot("answer") is None:
        return {}
    text = "".join(part.text for part in request.parts if part.slot is None)
    return {json.loads(name): levels.count("\n") - 1 for name, levels in _CRITERION_LINE.findall(text)}


def criteria_reply(criteria: Mapping[str, int], share: float) -> str:
    """A line of JSON with the level of every criterion at a share, from 0 to 1, of its scale."""
    return json.dumps({name: round(share * highest) for name, highest in criteria.items()})


def entry_of(request: Request) -> tuple[str, str] | None:
    """Return slot and text of the question, nugget, query or claim to compare with the passage, or None."""
    for slot in _ENTRY_SLOTS:
        if text := request.slot(slot):
            return slot, text
    return None


class Baseline(ABC):
    """A model without weights; subclasses implement :meth:`reply` for a single request."""

    name = "baseline"
    batch_size = 256

    def provenance(self) -> dict[str, Any]:
        """Return the engine's name, and that it is a baseline."""
        return {"engine": self.name, "baseline": True, "batch_invariant": True}

    @abstractmethod
    def reply(self, request: Request) -> Completion:
        """Reply to one request; depends only on the request and on the passages that were read."""

    def batches(self, requests: Sequence[Request]) -> list[Batch]:
        """Batches of a fixed size in the order of the requests."""
        return batches_in_order(len(requests), self.batch_size)

    def generate(
        self, requests: Sequence[Request], batches: Iterable[Batch] | None = None
    ) -> Iterator[tuple[int, Completion]]:
        """Answer request by request."""
        for batch in self.batches(requests) if batches is None else batches:
            for index in batch:
                yield index, self.reply(requests[index])


class RandomLLM(Baseline):
    """Replies with a random label or a random sentence of the passage; equal requests get equal replies.

    Half of the free-text replies are "unanswerable".
    """

    name = "random"

    def reply(self, request: Request) -> Completion:
        """Draw a reply with a random generator seeded by the request's hash."""
        random = Random(request.key())
        if criteria := criteria_of(request):
            return Completion(json.dumps({name: random.randint(0, top) for name, top in criteria.items()}))
        if labels := answer_scale(request):
            return Completion(random.choice(labels))
        spans = plain_sentences(request.slot("context") or "")
        return Completion(random.choice(spans) if spans and random.random() < 0.5 else UNANSWERABLE)


class ConstantLLM(Baseline):
    """Replies with the middle of the scale (3 of 0 to 5), or with the passage's first sentence."""

    name = "constant"

    def reply(self, request: Request) -> Completion:
        """Return the same reply for every entry."""
        if criteria := criteria_of(request):
            return Completion(criteria_reply(criteria, 0.5))
        if labels := answer_scale(request):
            return Completion(labels[len(labels) // 2])
        spans = plain_sentences(request.slot("context") or "")
        return Completion(spans[0] if spans else UNANSWERABLE)
