"""Nugget labels: ten nuggets in a call, repeated if the reply is not a list of labels; assignment.

Nugget assignment: which nuggets an answer supports, labelled in lists of ten or singly.

Source: Pradeep et al., Initial Nugget Evaluation Results for the TREC 2024 RAG Track, 2024, section 3.3.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any

from exam_pp.banks import Entry, label_of
from exam_pp.data_model import NuggetAssignment, RubricGrades
from exam_pp.graders.base import Grading, PassageUnit
from exam_pp.graders.rubric import RubricGrader
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.prompts.base import CUT_SLOT, Prompt
from exam_pp.prompts.entry_list import read_labels
from exam_pp.prompts.nuggets import LABELS_REPAIR, LIST_SLOT, PER_CALL, is_listwise
from exam_pp.records import replace

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
        return [dataclasses.replace(reply, error=WRONG_LENGTH)] * count
    return [dataclasses.replace(reply, text=label) for label in labels]


def _count_unread(labels: Sequence[Completion], prompt: Prompt) -> int:
    return sum(prompt.verdict(label, None, "default").reason is not None for label in labels)


def _repair(request: Request, reply: Completion, prompt: Prompt, count: int) -> Request:
    turn = Part(reply.text, slot="reply", role="assistant")
    labels = " or ".join(prompt.labels)
    repair = prompt.repaired_by(LABELS_REPAIR).render({"count": str(count), "labels": labels})
    return dataclasses.replace(request, parts=(*request.parts, turn, *repair), pairs=0)


@dataclass(frozen=True)
class AssignmentGrader(RubricGrader):
    """Labels every nugget for an answer, and stores the ratings of the labels with them.

    A listwise prompt lists ten nuggets in a call. A list that cannot be read is requested again, at most
    ``repairs`` times. Only calls about a single nugget ask for likelihoods of labels. An answer without text
    gets the label with rating 0 for all nuggets, without a call.
    """

    repairs: int = REPAIRS

    def run(self, unit: PassageUnit) -> Grading[RubricGrades]:
        """Label the nuggets of the unit.

        A nugget with an unknown label stays ungraded, and its error contains that label.
        """
        if not unit.text.strip():
            without = [Completion(label_of(0, self.prompt.labels))] * len(unit.entries)
            return replace(self._grades(unit, without), answers=[])
        if is_listwise(self.prompt):
            texts = [_shown(entry) for entry in unit.entries]
            replies = yield from label_in_batches(
                texts, lambda chunk: self._list_request(unit, chunk), self.prompt, self.repairs
            )
        else:
            replies = yield [self._request(unit, entry) for entry in unit.entries]
        return self._grades(unit, replies)

    def _list_request(self, unit: PassageUnit, nuggets: Sequence[str]) -> Request:
        values = {
            LIST_SLOT: as_list(nuggets),
            "count": str(len(nuggets)),
            "query": unit.query_text,
            CUT_SLOT: unit.text,
        }
        parts = self.prompt.render(values)
        return Request(parts, max_new_tokens=MAX_NEW_TOKENS, pairs=len(nuggets))

    def _grades(self, unit: PassageUnit, replies: Sequence[Completion]) -> RubricGrades:
        grades = super()._grades(unit, replies)
        labels = [
            NuggetAssignment(
                nugget_id=each.entry_id, assignment=label_of(each.self_rating, self.prompt.labels)
            )
            for each in grades.self_ratings or ()
        ]
        return replace(grades, assignments=labels)

    def _error(self, unit: PassageUnit, entry: Entry, reply: Completion, reason: str) -> dict[str, Any]:
        if not is_listwise(self.prompt):
            return super()._error(unit, entry, reply, reason)
        start = unit.entries.index(entry) // PER_CALL * PER_CALL
        chunk = [_shown(entry) for entry in unit.entries[start : start + PER_CALL]]
        prompt_text = self._list_request(unit, chunk).text
        return {"response": reply.text, "prompt": prompt_text, "failure_reason": reason}


def _shown(entry: Entry) -> str:
    """The text of an entry in a list, with the question that it answers."""
    return f"{entry.group_text} {entry.text}" if entry.group_text else entry.text
