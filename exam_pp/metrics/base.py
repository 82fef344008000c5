"""What a metric on rubric grades is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from exam_pp.metrics.graded import GradedQuery
from exam_pp.results import Score


class Metric(Protocol):
    """A value with parameters; ``str`` of it is the name in tables, such as ``Cover(min_grade=4)@20``."""

    def __call__(self, query: GradedQuery, first_ranks: Mapping[str, int]) -> Iterator[Score]:
        """One score for every system of ``first_ranks``, and one for the overall system.

        ``first_ranks`` says for each system whether it counts ranks from 0 or from 1.
        """
        ...
