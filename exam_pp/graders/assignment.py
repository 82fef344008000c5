"""Which nuggets an answer holds: in lists of ten, or one by one (Pradeep et al., 2024, section 3.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exam_pp.data_model import NuggetAssignment, RubricGrades
from exam_pp.graders.base import Grading, PassageUnit
from exam_pp.graders.listwise import MAX_NEW_TOKENS, REPAIRS, as_list, label_in_tens
from exam_pp.graders.rubric import RubricGrader
from exam_pp.messages import Completion, Request
from exam_pp.prompts.base import CUT_SLOT
from exam_pp.prompts.entry_list import plain_label
from exam_pp.prompts.nuggets import LIST_SLOT, PER_CALL, is_listwise
from exam_pp.test_bank import Entry


@dataclass(frozen=True)
class AssignmentGrader(RubricGrader):
    """Labels every nugget of an answer; ratings of 2, 1 and 0 stand beside the labels.

    A listwise prompt lists ten nuggets a call, and lists that cannot be read are asked for again, ``repairs``
    times at most; likelihoods of labels are asked for only where a call is about one nugget. An answer
    without text supports nothing, which is known without asking.
    """

    repairs: int = REPAIRS

    def run(self, unit: PassageUnit) -> Grading[RubricGrades]:
        """Label the nuggets of the unit; a nugget whose label is unknown stays ungraded, with that label."""
        if not unit.text.strip():
            nothing = [Completion(self.prompt.labels[0])] * len(unit.entries)
            return self._grades(unit, nothing).model_copy(update={"answers": []})
        if is_listwise(self.prompt):
            texts = [entry.text for entry in unit.entries]
            replies = yield from label_in_tens(
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
        return grades.model_copy(update={"assignments": labels})

    def _error(self, unit: PassageUnit, entry: Entry, reply: Completion, reason: str) -> dict[str, Any]:
        if not is_listwise(self.prompt):
            return super()._error(unit, entry, reply, reason)
        start = unit.entries.index(entry) // PER_CALL * PER_CALL
        chunk = [entry.text for entry in unit.entries[start : start + PER_CALL]]
        asked = self._list_request(unit, chunk).text
        return {"response": reply.text, "prompt": asked, "failure_reason": reason}
