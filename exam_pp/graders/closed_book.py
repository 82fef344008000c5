"""Grading without a passage: what a model says that knows the answer by heart."""

from __future__ import annotations

from dataclasses import dataclass

from exam_pp.data_model import RubricGrades
from exam_pp.graders.base import Grading, PassageUnit
from exam_pp.graders.rubric import RubricGrader


@dataclass(frozen=True)
class ClosedBookGrader(RubricGrader):
    """Asks every entry with an empty context, which other graders refuse to do."""

    def run(self, unit: PassageUnit) -> Grading[RubricGrades]:
        """Ask every entry of the unit."""
        replies = yield [self._request(unit, entry) for entry in unit.entries]
        return self._grades(unit, replies)
