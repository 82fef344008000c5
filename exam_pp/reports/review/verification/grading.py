"""*Verify grading*: entry by entry, the passages by rating, with the answer that explains it."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.packed import Remade
from exam_pp.phases.review.verification.grading import GradedEntry, Grading
from exam_pp.rendering.document import Block, Cell, Heading, Table
from exam_pp.reports.review.verification.base import VerificationReport, omission
from exam_pp.reports.review.verification.pairs import pair_table
from exam_pp.wording import counted

_COLUMNS = (
    "query_id", "entry_id", "entry", "rating", "source", "answer", "judgment", "passage_id", "reply",
    "reason", "text",
)  # fmt: skip


def summary(found: Grading) -> str:
    """How many pairs there are, and how many replies need a look."""
    counts = found.counts
    return (
        f"{counted(len(found.queries), 'query')}, {counted(found.entries, 'entry')}, "
        f"{counted(counts.pairs, 'pair')}: {counts.odd_replies} with a reply that is not just the rating "
        f"({counts.by_default} of them marked as read by the default rule), {counts.ungraded} ungraded, "
        f"{counts.not_asked} not asked."
    )


def blocks(found: Grading) -> Iterator[Block]:
    """A table per bank entry under the entry's text."""
    for shown in found.queries.values():
        yield Heading(shown.heading)
        for entry in shown.entries:
            yield from _entry_blocks(entry)


def _entry_blocks(entry: GradedEntry) -> list[Block]:
    shown: list[Block] = [Heading(entry.text, level=2)]
    if entry.pairs:
        shown.append(pair_table(entry.pairs))
    return shown + omission(entry.omitted, "passage", len(entry.pairs))


def table(found: Grading) -> Table:
    """All pairs that are shown."""
    return Table(_COLUMNS, Remade(lambda: _rows(found)))


def _rows(found: Grading) -> Iterator[list[Cell]]:
    for shown in found.queries.values():
        for entry in shown.entries:
            for pair in entry.pairs:
                yield [
                    entry.query_id, entry.entry_id, entry.text, pair.rating, pair.source, pair.answer,
                    pair.judgment, pair.passage_id, pair.reply, pair.reason, pair.text,
                ]  # fmt: skip


REPORT = VerificationReport("Verify grading", summary, blocks, table)
