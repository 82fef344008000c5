"""The contract between a grader and the scheduler that sends its requests to a model."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from exam_pp.banks import Entry
from exam_pp.data_model import ConsistencyGrade, CriteriaGrades, DirectGrade, RubricGrades, SupportGrades
from exam_pp.llm_requests import Completion, Request

G_co = TypeVar("G_co", bound=RubricGrades | DirectGrade, covariant=True)

Grading = Generator[list[Request], list[Completion], G_co]
"""A generator that yields requests, receives their completions in the same order, and returns grades.

Most graders yield once; graders with windows or retries yield several times.
"""

ConsistencyGrading = Generator[list[Request], list[Completion], ConsistencyGrade]
"""The same for the factual consistency of a claim."""

SupportGrading = Generator[list[Request], list[Completion], SupportGrades]
"""The same for the support of a part of an answer by the passages that it cites."""

CriteriaGrading = Generator[list[Request], list[Completion], CriteriaGrades]
"""The same for the ratings of an answer by criteria."""


@dataclass(frozen=True)
class PassageUnit:
    """A passage and the bank entries to grade it against; ``entries`` is empty for a direct grade."""

    query_id: str
    query_text: str
    passage_id: str
    text: str
    entries: Sequence[Entry]

    @property
    def pairs(self) -> int:
        """The number of grades to make."""
        return len(self.entries) or 1


class Grader(Protocol[G_co]):
    """Turns a passage with its entries into requests, and the replies into grades."""

    def run(self, unit: PassageUnit) -> Grading[G_co]:
        """Return the generator that grades ``unit``."""
