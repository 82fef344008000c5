"""Nugget assignment: which nuggets an answer supports, labelled in lists of ten or singly.

Source: Pradeep et al., Initial Nugget Evaluation Results for the TREC 2024 RAG Track, 2024, section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exam_pp.data_model import NuggetAssignment, RubricGrades
from exam_pp.graders.base import Grading, PassageUnit
from exam_pp.graders.listwise import MAX_NEW_TOKENS, REPAIRS, as_list, label_in_batches
from exam_pp.graders.rubric import RubricGrader
from exam_pp.prompts.base import CUT_SLOT
from exam_pp.prompts.entry_list import plain_label
from exam_pp.prompts.nuggets import LIST_SLOT, PER_CALL, is_listwise
from exam_pp.records import replace
from exam_pp.requests import Completion, Request
from exam_pp.test_bank import Entry


@dataclass(frozen=True)
class AssignmentGrader(RubricGrader):
    """Labels every nugget for an answer, and stores the ratings 2, 1 and 0 with the labels.

    A listwise prompt lists ten nuggets in a call. A list that cannot be read is requested again, at most
    ``repairs`` times. Only calls about a single nugget ask for likelihoods of labels. An answer without text
    gets the lowest label for all nuggets, without a call.
    """

    repairs: int = REPAIRS

    def run(self, unit: PassageUnit) -> Grading[RubricGrades]:
        """Label the nuggets of the unit.

        A nugget with an unknown label stays ungraded, and its error contains that label.
        """
        if not unit.text.strip():
            unsupported = [Completion(self.prompt.labels[0])] * len(unit.entries)
            return replace(self._grades(unit, unsupported), answers=[])
        if is_listwise(self.prompt):
            texts = [entry.text for entry in unit.entries]
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
            NuggetAssignment(nugget_id=nugget, assignment=plain_label(label))
            for nugget, label in grades.answers
        ]
        return replace(grades, assignments=labels)

    def _error(self, unit: PassageUnit, entry: Entry, reply: Completion, reason: str) -> dict[str, Any]:
        if not is_listwise(self.prompt):
            return super()._error(unit, entry, reply, reason)
        start = unit.entries.index(entry) // PER_CALL * PER_CALL
        chunk = [entry.text for entry in unit.entries[start : start + PER_CALL]]
        prompt_text = self._list_request(unit, chunk).text
        return {"response": reply.text, "prompt": prompt_text, "failure_reason": reason}
