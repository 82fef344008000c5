"""Verify-grading report (workbench paper, section 4.4): passages of every entry by rating, with answers."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.packed import LazySequence
from exam_pp.phases.review.verification.grading import GradedEntry, Grading
from exam_pp.rendering.document import Block, Cell, Heading, Table
from exam_pp.reports.review.verification.base import VerificationReport, omission
from exam_pp.reports.review.verification.pairs import pair_table
from exam_pp.text.wording import counted

_COLUMNS = (
    "query_id", "entry_id", "entry", "rating", "source", "answer", "judgment", "passage_id", "reply",
    "reason", "text",
)  # fmt: skip


def summary(selection: Grading) -> str:
    """The numbers of pairs, of replies to check, and of ungraded pairs."""
    counts = selection.counts
    return (
        f"{counted(len(selection.queries), 'query')}, {counted(selection.entries, 'entry')}, "
        f"{counted(counts.pairs, 'pair')}: {counts.odd_replies} with a reply that is not just the rating "
        f"({counts.by_default} of them marked as read by the default rule), {counts.ungraded} ungraded, "
        f"{counts.not_asked} not asked."
    )


def blocks(selection: Grading) -> Iterator[Block]:
    """A table per bank entry, with the entry's text as heading."""
    for query in selection.queries.values():
        yield Heading(query.heading)
        for entry in query.entries:
            yield from _entry_blocks(entry)


def _entry_blocks(entry: GradedEntry) -> list[Block]:
    parts: list[Block] = [Heading(entry.text, level=2)]
    if entry.pairs:
        parts.append(pair_table(entry.pairs))
    return parts + omission(entry.omitted, "passage", len(entry.pairs))


def table(selection: Grading) -> Table:
    """A row per shown pair."""
    return Table(_COLUMNS, LazySequence(lambda: _rows(selection)))


def _rows(selection: Grading) -> Iterator[list[Cell]]:
    for query in selection.queries.values():
        for entry in query.entries:
            for pair in entry.pairs:
                yield [
                    entry.query_id, entry.entry_id, entry.text, pair.rating, pair.source, pair.answer,
                    pair.judgment, pair.passage_id, pair.reply, pair.reason, pair.text,
                ]  # fmt: skip


REPORT = VerificationReport("Verify grading", summary, blocks, table)
