"""Report on spurious bank entries: entries that non-relevant passages often cover, most frequent first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import CheckedQuery, GradedPair
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.reports.review.verification.parts import omission, pair_table, verification_report
from exam_pp.text.wording import counted

_EXAMPLES = 3
"""Passages that are shown of each entry."""
_EXAMPLE = 200
"""Characters of an example passage."""


class _Entry(NamedTuple):
    """A bank entry with its coverage.

    ``covering`` has the non-relevant passages that cover it, those with the best rating and the lowest
    judgment first, ``covered`` is the number of relevant passages that cover it; ``non_relevant`` and
    ``relevant`` are the numbers of passages that are graded on it.
    """

    query: CheckedQuery
    entry_id: str
    covering: list[GradedPair]
    covered: int
    non_relevant: int
    relevant: int

    @property
    def text(self) -> str:
        """The text of the entry."""
        return self.query.entries[self.entry_id]


def spurious(
    checked: CheckedFile,
    *,
    min_judgment: int = 1,
    often: int = 3,
    limit: int | None = None,
    flat: bool = False,
) -> Report:
    """The first ``limit`` entries that at least ``often`` passages judged below ``min_judgment`` cover.

    Below a table of them are up to three of the passages of each. Passages without a judgment do not count.
    With ``flat``, one table with a row per entry.
    """
    entries = [
        _entry(query, entry_id, min_judgment, checked.min_grade)
        for query in checked.queries
        for entry_id in query.entries
    ]
    found = [entry for entry in entries if len(entry.covering) >= often]
    found.sort(key=lambda e: (-len(e.covering), e.covered, e.query.query_id, e.entry_id))
    summary = (
        f"{len(found)} of {len(entries)} entries of {counted(len(checked.queries), 'query')} are covered "
        f"(grade {checked.min_grade} or higher) by {often} or more non-relevant passages (judged below "
        f"{min_judgment})."
    )
    if not any(entry.non_relevant for entry in entries):
        summary = f"No graded passage is judged below {min_judgment}, so no entry can look spurious."
    shown = found[:limit]
    blocks = [_table(shown)] if flat else _blocks(shown, len(found) - len(shown))
    return verification_report("Spurious bank entries", checked, summary, blocks)


def _entry(query: CheckedQuery, entry_id: str, min_judgment: int, min_grade: int) -> _Entry:
    rated = [
        (pair.rating, passage.judgment, pair)
        for passage in query.passages
        if passage.judgment is not None
        and (pair := passage.pairs.get(entry_id))
        and pair.rating is not None
        and not pair.to_avoid
    ]
    rated.sort(key=lambda item: (-item[0], item[1], item[2].passage_id))
    below = [(rating, pair) for rating, judgment, pair in rated if judgment < min_judgment]
    covering = [pair for rating, pair in below if rating >= min_grade]
    covered = sum(rating >= min_grade for rating, _, _ in rated) - len(covering)
    return _Entry(query, entry_id, covering, covered, len(below), len(rated) - len(below))


def _table(shown: Sequence[_Entry]) -> Table:
    columns = (
        "query_id", "entry_id", "entry", "covered_by_non_relevant", "non_relevant", "covered_by_relevant",
        "relevant", "examples",
    )  # fmt: skip
    rows: list[list[Cell]] = [
        [entry.query.query_id, entry.entry_id, entry.text, len(entry.covering), entry.non_relevant,
         entry.covered, entry.relevant, " ".join(pair.passage_id for pair in entry.covering[:_EXAMPLES])]
        for entry in shown
    ]  # fmt: skip
    return Table(columns, rows)


def _blocks(shown: Sequence[_Entry], omitted: int) -> list[Block]:
    """A table of the entries, then examples for each entry."""
    if not shown:
        return []
    columns = ("non-relevant", "% of non-relevant", "relevant", "% of relevant", "query_id", "entry")
    rows: list[list[Cell]] = [
        [len(entry.covering), 100 * len(entry.covering) / entry.non_relevant, entry.covered,
         100 * entry.covered / entry.relevant if entry.relevant else None, entry.query.query_id, entry.text]
        for entry in shown
    ]  # fmt: skip
    blocks: list[Block] = [
        Paragraph(
            "The number of non-relevant and of relevant passages that cover an entry, and their percentage "
            "of the passages graded on it. A good entry is covered by many relevant and few non-relevant "
            "passages."
        ),
        Table(columns, rows, decimals=0),
        *omission(omitted, "entry", len(shown)),
    ]
    for entry in shown:
        blocks.append(Heading(f"({len(entry.covering)}) {entry.text}", level=2))
        blocks.append(pair_table(entry.covering[:_EXAMPLES], width=_EXAMPLE, title=entry.query.heading))
    return blocks
