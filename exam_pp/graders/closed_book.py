"""Closed-book grading: answers to questions without a passage."""

from __future__ import annotations

from dataclasses import dataclass

from exam_pp.data_model import RubricGrades
from exam_pp.graders.base import Grading, PassageUnit
from exam_pp.graders.rubric import RubricGrader


@dataclass(frozen=True)
class ClosedBookGrader(RubricGrader):
    """Asks about every entry with an empty context; other graders leave such entries ungraded."""

    def run(self, unit: PassageUnit) -> Grading[RubricGrades]:
        """Send one request for each entry."""
        replies = yield [self._request(unit, entry) for entry in unit.entries]
        return self._grades(unit, replies)
