"""*Missing in test bank*: relevant passages that cover no entry, by which the bank should grow."""

from __future__ import annotations

from exam_pp.phases.review.verification.uncovered import Uncovered
from exam_pp.rendering.document import Block, Cell, Heading, Table
from exam_pp.reports.review.verification.base import VerificationReport, omission
from exam_pp.reports.review.verification.cards import ROW, card, judged, nearest, row

_NEAREST = 3
"""Entries shown with a passage: those that it comes nearest to covering."""


def summary(found: Uncovered) -> str:
    """How many of the relevant passages cover nothing."""
    uncovered = sum(gaps.found.added for gaps in found.queries.values())
    relevant = sum(gaps.relevant for gaps in found.queries.values())
    ungraded = sum(gaps.ungraded for gaps in found.queries.values())
    if not relevant:
        return f"No passage is judged {found.min_judgment} or higher: there is nothing to cover."
    passages = f"{relevant} relevant passages (judged {found.min_judgment} or higher)"
    if ungraded == relevant:
        return f"None of {passages} is graded: that says nothing of the bank."
    words = f"{uncovered} of {passages} have no grade of {found.min_grade} or higher"
    if ungraded:
        return f"{words}; {ungraded} more are not graded."
    return f"{words}." if uncovered else f"{words}: the bank misses none of them."


def blocks(found: Uncovered) -> list[Block]:
    """A table of the queries, then the passages."""
    gaps = found.gaps()
    if not gaps:
        return []
    rows: list[list[Cell]] = [
        [one.found.added, one.relevant, one.query.query_id, one.query.text or None] for one in gaps
    ]
    shown: list[Block] = [Table(("uncovered", "relevant", "query_id", "query"), rows)]
    for one in gaps:
        shown.append(Heading(one.query.heading))
        passages = one.found.items()
        for passage in passages:
            label = f"{passage.passage_id}: {judged(passage)}, best grade {passage.best_rating}"
            shown += card(passage, label, nearest(passage, _NEAREST), one.query.entries)
        shown += omission(one.found.omitted, "passage", len(passages))
    return shown


def table(found: Uncovered) -> Table:
    """A row for each passage, with the entry that it comes nearest to covering."""
    return Table(ROW, [row(one.query, passage) for one in found.gaps() for passage in one.found.items()])


REPORT = VerificationReport("Missing in the test bank", summary, blocks, table)
