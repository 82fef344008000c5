"""Report on relevant passages that cover no entry, which suggest new bank entries."""

from __future__ import annotations

from typing import NamedTuple

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import CheckedPassage, CheckedQuery
from exam_pp.rendering.document import Block, Cell, Heading, Report, Table
from exam_pp.reports.review.verification.parts import (
    ROW,
    judged,
    nearest,
    omission,
    passage_card,
    row,
    verification_report,
)

_NEAREST = 3
"""Entries shown with a passage: its best-rated entries."""


class _Gaps(NamedTuple):
    """The uncovered passages of a query, and the number of its relevant passages."""

    query: CheckedQuery
    uncovered: list[CheckedPassage]
    relevant: int


def uncovered(
    checked: CheckedFile, *, min_judgment: int = 1, limit: int | None = None, flat: bool = False
) -> Report:
    """Passages judged ``min_judgment`` or higher without a grade that covers an entry, as cards.

    The ``limit`` most relevant passages of each query are shown; of equally relevant passages, those with the
    lowest grades. Queries with most uncovered passages come first. Ungraded passages are only counted. With
    ``flat``, one table with a row per passage and its best-rated entry.
    """
    gaps: list[_Gaps] = []
    relevant = ungraded = 0
    for query in checked.queries:
        judged_so = [p for p in query.passages if p.relevance is not None and p.relevance >= min_judgment]
        relevant += len(judged_so)
        graded = [(p.best_rating, p) for p in judged_so if p.best_rating is not None]
        ungraded += len(judged_so) - len(graded)
        graded.sort(key=lambda item: (-max(item[1].judgments), item[0], item[1].passage_id))
        if low := [passage for best, passage in graded if best < checked.min_grade]:
            gaps.append(_Gaps(query, low, len(judged_so)))
    gaps.sort(key=lambda gap: -len(gap.uncovered))
    count = sum(len(gap.uncovered) for gap in gaps)
    passages = f"{relevant} relevant passages (judged {min_judgment} or higher)"
    summary = f"{count} of {passages} have no grade of {checked.min_grade} or higher"
    if not relevant:
        summary = f"No passage is judged {min_judgment} or higher, so no passage is relevant."
    elif ungraded == relevant:
        summary = f"None of {passages} is graded, so the report is empty."
    elif ungraded:
        summary += f"; {ungraded} more {'is' if ungraded == 1 else 'are'} not graded."
    else:
        summary += "." if count else ": the bank covers all of them."
    blocks = [_table(gaps, checked.min_grade, limit)] if flat else _blocks(gaps, limit)
    return verification_report("Relevant passages that cover no entry", checked, summary, blocks)


def _table(gaps: list[_Gaps], min_grade: int, limit: int | None) -> Table:
    return Table(ROW, [row(query, p, min_grade) for query, passages, _ in gaps for p in passages[:limit]])


def _blocks(gaps: list[_Gaps], limit: int | None) -> list[Block]:
    """A table of the queries, then a card per passage."""
    if not gaps:
        return []
    rows: list[list[Cell]] = [
        [len(passages), relevant, query.query_id, query.text or None] for query, passages, relevant in gaps
    ]
    blocks: list[Block] = [Table(("uncovered", "relevant", "query_id", "query"), rows)]
    for query, passages, _ in gaps:
        blocks.append(Heading(query.heading))
        shown = passages[:limit]
        for passage in shown:
            label = f"{passage.passage_id}: {judged(passage)}, best grade {passage.best_rating}"
            blocks += passage_card(passage, label, nearest(passage, _NEAREST), query.entries)
        blocks += omission(len(passages) - len(shown), "passage", len(shown))
    return blocks
