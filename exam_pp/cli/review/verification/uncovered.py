"""Report on relevant passages that cover no entry, which suggest new bank entries."""

from __future__ import annotations

from dataclasses import dataclass

from exam_pp.cli.review.verification.base import Selection, Smallest, VerificationReport, omission
from exam_pp.cli.review.verification.cards import ROW, card, judged, nearest, row
from exam_pp.phases.review.checked_passages import CheckedPassage, CheckedQuery
from exam_pp.rendering.document import Block, Cell, Heading, Table


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


_NEAREST = 3
"""Entries shown with a passage: its best-rated entries."""


def summary(selection: Uncovered) -> str:
    """The number of relevant passages, and of those that cover no entry."""
    uncovered = sum(gaps.uncovered.added for gaps in selection.queries.values())
    relevant = sum(gaps.relevant for gaps in selection.queries.values())
    ungraded = sum(gaps.ungraded for gaps in selection.queries.values())
    if not relevant:
        return f"No passage is judged {selection.min_judgment} or higher, so no passage is relevant."
    passages = f"{relevant} relevant passages (judged {selection.min_judgment} or higher)"
    if ungraded == relevant:
        return f"None of {passages} is graded, so the report is empty."
    counts = f"{uncovered} of {passages} have no grade of {selection.min_grade} or higher"
    if ungraded:
        return f"{counts}; {ungraded} more {'is' if ungraded == 1 else 'are'} not graded."
    return f"{counts}." if uncovered else f"{counts}: the bank covers all of them."


def blocks(selection: Uncovered) -> list[Block]:
    """A table of the queries, then a card per passage."""
    gaps = selection.gaps()
    if not gaps:
        return []
    rows: list[list[Cell]] = [
        [gap.uncovered.added, gap.relevant, gap.query.query_id, gap.query.text or None] for gap in gaps
    ]
    parts: list[Block] = [Table(("uncovered", "relevant", "query_id", "query"), rows)]
    for gap in gaps:
        parts.append(Heading(gap.query.heading))
        passages = gap.uncovered.items()
        for passage in passages:
            label = f"{passage.passage_id}: {judged(passage)}, best grade {passage.best_rating}"
            parts += card(passage, label, nearest(passage, _NEAREST), gap.query.entries)
        parts += omission(gap.uncovered.omitted, "passage", len(passages))
    return parts


def table(selection: Uncovered) -> Table:
    """A row per passage, with its best-rated entry."""
    return Table(
        ROW, [row(gap.query, passage) for gap in selection.gaps() for passage in gap.uncovered.items()]
    )


REPORT = VerificationReport("Relevant passages that cover no entry", summary, blocks, table)
