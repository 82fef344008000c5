"""The contract between what asks (a grader) and what drives it (the grading phase)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from exam_pp.data_model import DirectGrade, RubricGrades
from exam_pp.messages import Completion, Request
from exam_pp.test_bank import Entry

G_co = TypeVar("G_co", bound=RubricGrades | DirectGrade, covariant=True)

Grading = Generator[list[Request], list[Completion], G_co]
"""Yields requests, is sent their completions in the same order, returns the grades.

One-shot prompts yield once; windows, retries and second opinions yield again.
"""


@dataclass(frozen=True)
class PassageUnit:
    """A passage and the bank entries that are to be graded on it; no entries for a direct grade."""

    query_id: str
    query_text: str
    passage_id: str
    text: str
    entries: Sequence[Entry]

    @property
    def pairs(self) -> int:
        """How many grades are wanted."""
        return len(self.entries) or 1


class Grader(Protocol[G_co]):
    """Turns a unit of work into requests, and the replies into grades."""

    def run(self, unit: PassageUnit) -> Grading[G_co]:
        """Start grading a unit."""
