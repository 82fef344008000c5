"""*Missing in test bank*: relevant passages that cover no entry, by which the bank should grow."""

from __future__ import annotations

from dataclasses import dataclass

from exam_pp.phases.review.verification.base import Smallest, VerificationReport, omission
from exam_pp.phases.review.verification.cards import ROW, card, judged, nearest, row
from exam_pp.phases.review.verification.checked import CheckedPassage, CheckedQuery
from exam_pp.rendering.document import Block, Cell, Heading, Table

_NEAREST = 3
"""Entries shown with a passage: those that it comes nearest to covering."""


class Uncovered(VerificationReport):
    """Passages judged ``min_judgment`` or higher without a grade that covers an entry.

    Of every query the ``limit`` most relevant ones are shown, the lowest graded first; queries with the most
    of them come first. Passages without any grade say nothing about the bank and are only counted.
    """

    title = "Missing in the test bank"
    needs_judgments = True

    def __init__(self, min_judgment: int = 1, limit: int | None = None) -> None:
        self._min_judgment, self._limit = min_judgment, limit
        self._queries: dict[str, _Gaps] = {}
        self._min_grade = 0

    def add(self, query: CheckedQuery) -> None:
        """Keep the uncovered passages."""
        gaps = self._queries.setdefault(
            query.query_id, _Gaps(query.without_passages(), Smallest(self._limit))
        )
        for passage in query.passages:
            relevance, best = passage.relevance, passage.best_rating
            if relevance is None or relevance < self._min_judgment:
                continue
            gaps.relevant += 1
            if best is None:
                gaps.ungraded += 1
                continue
            self._min_grade = query.min_grade
            if best < query.min_grade:
                gaps.found.add((-relevance, best, passage.passage_id), passage)

    def summary(self) -> str:
        """How many of the relevant passages cover nothing."""
        found = sum(gaps.found.added for gaps in self._queries.values())
        relevant = sum(gaps.relevant for gaps in self._queries.values())
        ungraded = sum(gaps.ungraded for gaps in self._queries.values())
        if not relevant:
            return f"No passage is judged {self._min_judgment} or higher: there is nothing to cover."
        passages = f"{relevant} relevant passages (judged {self._min_judgment} or higher)"
        if ungraded == relevant:
            return f"None of {passages} is graded: that says nothing of the bank."
        words = f"{found} of {passages} have no grade of {self._min_grade} or higher"
        if ungraded:
            return f"{words}; {ungraded} more are not graded."
        return f"{words}." if found else f"{words}: the bank misses none of them."

    def blocks(self) -> list[Block]:
        """A table of the queries, then the passages."""
        gaps = self._ordered()
        if not gaps:
            return []
        rows: list[list[Cell]] = [
            [one.found.added, one.relevant, one.query.query_id, one.query.text or None] for one in gaps
        ]
        blocks: list[Block] = [Table(("uncovered", "relevant", "query_id", "query"), rows)]
        for one in gaps:
            blocks.append(Heading(one.query.heading))
            passages = one.found.items()
            for passage in passages:
                label = f"{passage.passage_id}: {judged(passage)}, best grade {passage.best_rating}"
                blocks += card(passage, label, nearest(passage, _NEAREST), one.query.entries)
            blocks += omission(one.found.omitted, "passage", len(passages))
        return blocks

    def table(self) -> Table:
        """A row for each passage, with the entry that it comes nearest to covering."""
        return Table(
            ROW, [row(one.query, passage) for one in self._ordered() for passage in one.found.items()]
        )

    def _ordered(self) -> list[_Gaps]:
        found = [gaps for gaps in self._queries.values() if gaps.found.added]
        return sorted(found, key=lambda gaps: -gaps.found.added)


@dataclass
class _Gaps:
    query: CheckedQuery
    found: Smallest[CheckedPassage]
    relevant: int = 0
    ungraded: int = 0
