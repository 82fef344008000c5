"""Verify-grading report (workbench paper, section 4.4): passages of every entry by rating, with answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from exam_pp.cli.review.verification.base import Selection, VerificationReport, omission
from exam_pp.cli.review.verification.cards import pair_table
from exam_pp.packed import LazySequence, PackedMapping
from exam_pp.phases.review.checked_passages import (
    CheckedQuery,
    GradedPair,
    blank_pair,
)
from exam_pp.rendering.document import Block, Cell, Heading, Table
from exam_pp.text.wording import counted


@dataclass(frozen=True)
class GradedEntry:
    """A bank entry with its passages, best rating first; ``omitted`` counts passages that are not shown."""

    query_id: str
    entry_id: str
    text: str
    pairs: Sequence[GradedPair]
    omitted: int = 0

    def only(self, min_grade: int | None, limit: int | None) -> GradedEntry:
        """The entry with only the first ``limit`` pairs that have at least the rating ``min_grade``."""
        pairs = [
            pair
            for pair in self.pairs
            if min_grade is None or (pair.rating is not None and pair.rating >= min_grade)
        ][:limit]
        return replace(self, pairs=pairs, omitted=self.omitted + len(self.pairs) - len(pairs))

    def merged(self, other: GradedEntry) -> GradedEntry:
        """Merge two parts of an entry whose query is on two lines of the file."""
        pairs = _by_rating([*self.pairs, *other.pairs])
        return replace(self, pairs=pairs, omitted=self.omitted + other.omitted)


def graded_entries(query: CheckedQuery) -> list[GradedEntry]:
    """Every entry of a query with all its passages: rated ones by rating, then the ungraded."""
    return [
        GradedEntry(
            query.query_id,
            entry_id,
            text,
            _by_rating(passage.pairs.get(entry_id) or blank_pair(passage) for passage in query.passages),
        )
        for entry_id, text in query.entries.items()
    ]


def _by_rating(pairs: Iterable[GradedPair]) -> list[GradedPair]:
    return sorted(pairs, key=lambda pair: -1 if pair.rating is None else pair.rating, reverse=True)


@dataclass
class PairCounts:
    """Counts over all pairs, shown or not."""

    pairs: int = 0
    odd_replies: int = 0
    by_default: int = 0
    ungraded: int = 0
    not_asked: int = 0

    def add(self, entry: GradedEntry) -> None:
        """Count the pairs of an entry."""
        for pair in entry.pairs:
            self.pairs += 1
            self.odd_replies += pair.rating is not None and pair.reply is not None
            self.by_default += pair.by_default
            self.not_asked += not pair.asked
            self.ungraded += pair.asked and pair.rating is None


@dataclass(frozen=True)
class ShownQuery:
    """The entries of a query that are shown."""

    heading: str
    entries: list[GradedEntry]


_DECODER = msgspec.json.Decoder(ShownQuery)


class Grading(Selection):
    """The first ``limit`` passages of every entry with at least the rating ``min_grade``.

    ``counts`` covers all pairs, shown or not. Only one query is in memory at a time; the rest is in a
    temporary file.
    """

    def __init__(self, min_grade: int | None = None, limit: int | None = None) -> None:
        self._min_grade, self._limit = min_grade, limit
        self.queries = PackedMapping[ShownQuery](msgspec.json.encode, _DECODER.decode)
        self.entries = 0
        self.counts = PairCounts()

    def add(self, query: CheckedQuery) -> None:
        """Keep the pairs that are shown."""
        shown = self.queries.get(query.query_id) or ShownQuery(query.heading, [])
        entries = {entry.entry_id: entry for entry in shown.entries}
        for part in graded_entries(query):
            self.counts.add(part)
            earlier = entries.get(part.entry_id)
            entry = earlier.merged(part) if earlier else part
            entries[part.entry_id] = entry.only(self._min_grade, self._limit)
        self.entries += len(entries) - len(shown.entries)
        self.queries[query.query_id] = replace(shown, entries=list(entries.values()))


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
