"""Relevant passages that cover no bank entry."""

from __future__ import annotations

from dataclasses import dataclass

from exam_pp.phases.review.verification.base import Selection, Smallest
from exam_pp.phases.review.verification.checked import CheckedPassage, CheckedQuery


class Uncovered(Selection):
    """Passages judged ``min_judgment`` or higher without a grade that covers an entry.

    The ``limit`` most relevant passages of each query are kept; of equally relevant passages, those with the
    lowest grades. Queries with most uncovered passages come first. Ungraded passages are only counted.
    """

    needs_judgments = True

    def __init__(self, min_judgment: int = 1, limit: int | None = None) -> None:
        self.min_judgment, self._limit = min_judgment, limit
        self.queries: dict[str, UncoveredQuery] = {}
        self.min_grade = 0

    def add(self, query: CheckedQuery) -> None:
        """Keep the uncovered passages."""
        gaps = self.queries.setdefault(
            query.query_id, UncoveredQuery(query.without_passages(), Smallest(self._limit))
        )
        for passage in query.passages:
            relevance, best = passage.relevance, passage.best_rating
            if relevance is None or relevance < self.min_judgment:
                continue
            gaps.relevant += 1
            if best is None:
                gaps.ungraded += 1
                continue
            self.min_grade = query.min_grade
            if best < query.min_grade:
                gaps.uncovered.add((-relevance, best, passage.passage_id), passage)

    def gaps(self) -> list[UncoveredQuery]:
        """The queries with uncovered passages, in descending order of their number."""
        queries = [gaps for gaps in self.queries.values() if gaps.uncovered.added]
        return sorted(queries, key=lambda gaps: -gaps.uncovered.added)


@dataclass
class UncoveredQuery:
    """The uncovered passages of a query, and the numbers of its relevant and ungraded passages."""

    query: CheckedQuery
    uncovered: Smallest[CheckedPassage]
    relevant: int = 0
    ungraded: int = 0
