"""The contract between a grader and the scheduler that sends its requests to a model."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from exam_pp.banks import Entry
from exam_pp.llm_requests import Completion, Request

G_co = TypeVar("G_co", covariant=True)

Grading = Generator[list[Request], list[Completion], G_co]
"""A generator that yields requests, receives their completions in the same order, and returns grades.

Most graders yield once; graders with windows or retries yield several times.
"""


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
