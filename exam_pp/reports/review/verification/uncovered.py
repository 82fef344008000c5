"""Report on relevant passages that cover no entry, which suggest new bank entries."""

from __future__ import annotations

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import CheckedPassage, CheckedQuery
from exam_pp.rendering.document import Block, Cell, Heading, Report, Table
from exam_pp.reports.review.verification.parts import ROW, passage_cards, row, verification_report

_Gaps = tuple[CheckedQuery, list[CheckedPassage], int]
"""A query, its uncovered passages, and the number of its relevant passages."""


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
        judged_so = [p for p in query.passages if p.judgment is not None and p.judgment >= min_judgment]
        relevant += len(judged_so)
        graded = [(p.best_rating, p) for p in judged_so if p.best_rating is not None]
        ungraded += len(judged_so) - len(graded)
        graded.sort(key=lambda item: (-(item[1].judgment or 0), item[0], item[1].passage_id))
        if low := [passage for best, passage in graded if best < checked.min_grade]:
            gaps.append((query, low, len(judged_so)))
    gaps.sort(key=lambda gap: -len(gap[1]))
    count = sum(len(low) for _, low, _ in gaps)
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
    blocks = [_table(gaps, checked.min_grade, limit)] if flat else _blocks(gaps, checked.min_grade, limit)
    return verification_report("Relevant passages that cover no entry", checked, summary, blocks)


def _table(gaps: list[_Gaps], min_grade: int, limit: int | None) -> Table:
    return Table(ROW, [row(query, p, min_grade) for query, passages, _ in gaps for p in passages[:limit]])


def _blocks(gaps: list[_Gaps], min_grade: int, limit: int | None) -> list[Block]:
    """A table of the queries, then a card per passage."""
    if not gaps:
        return []
    rows: list[list[Cell]] = [
        [len(passages), relevant, query.query_id, query.text or None] for query, passages, relevant in gaps
    ]
    blocks: list[Block] = [Table(("uncovered", "relevant", "query_id", "query"), rows)]
    for query, passages, _ in gaps:
        blocks.append(Heading(query.heading))
        blocks += passage_cards([(query, passage) for passage in passages], min_grade, limit)
    return blocks
