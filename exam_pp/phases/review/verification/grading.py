"""*Verify grading*: entry by entry, the passages by rating, with the answer that explains it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import msgspec

from exam_pp.packed import PackedMapping, Remade
from exam_pp.phases.review.verification.base import VerificationReport, omission, without_empty_columns
from exam_pp.phases.review.verification.checked import (
    NOT_ASKED,
    UNGRADED,
    CheckedQuery,
    GradedPair,
    blank_pair,
    shortened,
)
from exam_pp.rendering.document import Block, Cell, Heading, Table
from exam_pp.wording import counted

CELL = 56
"""Characters of a text in a table for the terminal."""


@dataclass(frozen=True)
class GradedEntry:
    """A bank entry with its passages, best rating first; ``omitted`` counts those not shown."""

    query_id: str
    entry_id: str
    text: str
    pairs: Sequence[GradedPair]
    omitted: int = 0

    def only(self, min_grade: int | None, limit: int | None) -> GradedEntry:
        """The first ``limit`` pairs that have at least the rating ``min_grade``."""
        pairs = [
            pair
            for pair in self.pairs
            if min_grade is None or (pair.rating is not None and pair.rating >= min_grade)
        ][:limit]
        return replace(self, pairs=pairs, omitted=self.omitted + len(self.pairs) - len(pairs))

    def joined(self, other: GradedEntry) -> GradedEntry:
        """Both parts of an entry whose query stands on two lines of the file."""
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


@dataclass(frozen=True)
class _Shown:
    """What is shown of a query."""

    heading: str
    entries: list[GradedEntry]


_DECODER = msgspec.json.Decoder(_Shown)


class Grading(VerificationReport):
    """Of every entry, the first ``limit`` passages with at least the rating ``min_grade``.

    One query is in memory at a time, the others are in a temporary file.
    """

    title = "Verify grading"

    def __init__(self, min_grade: int | None = None, limit: int | None = None) -> None:
        self._min_grade, self._limit = min_grade, limit
        self._queries = PackedMapping[_Shown](msgspec.json.encode, _DECODER.decode)
        self._entries = 0
        self._counts = _Counts()

    def add(self, query: CheckedQuery) -> None:
        """Keep the pairs that are shown."""
        shown = self._queries.get(query.query_id) or _Shown(query.heading, [])
        entries = {entry.entry_id: entry for entry in shown.entries}
        for part in graded_entries(query):
            self._counts.add(part)
            known = entries.get(part.entry_id)
            entry = known.joined(part) if known else part
            entries[part.entry_id] = entry.only(self._min_grade, self._limit)
        self._entries += len(entries) - len(shown.entries)
        self._queries[query.query_id] = replace(shown, entries=list(entries.values()))

    def summary(self) -> str:
        """How many pairs there are, and how many replies need a look."""
        return self._counts.words(len(self._queries), self._entries)

    def blocks(self) -> Iterator[Block]:
        """A table per bank entry under the entry's text."""
        for shown in self._queries.values():
            yield Heading(shown.heading)
            for entry in shown.entries:
                yield from _entry_blocks(entry)

    def table(self) -> Table:
        """All pairs that are shown."""
        return Table(_COLUMNS, Remade(self._rows))

    def _rows(self) -> Iterator[list[Cell]]:
        for shown in self._queries.values():
            for entry in shown.entries:
                for pair in entry.pairs:
                    yield [
                        entry.query_id, entry.entry_id, entry.text, pair.rating, pair.source, pair.answer,
                        pair.judgment, pair.passage_id, pair.reply, pair.reason, pair.text,
                    ]  # fmt: skip


_COLUMNS = (
    "query_id", "entry_id", "entry", "rating", "source", "answer", "judgment", "passage_id", "reply",
    "reason", "text",
)  # fmt: skip


@dataclass
class _Counts:
    """Of all pairs, shown or not."""

    pairs: int = 0
    odd_replies: int = 0
    by_default: int = 0
    ungraded: int = 0
    not_asked: int = 0

    def add(self, entry: GradedEntry) -> None:
        for pair in entry.pairs:
            self.pairs += 1
            self.odd_replies += pair.rating is not None and pair.reply is not None
            self.by_default += pair.by_default
            asked = pair.reason != NOT_ASKED
            self.not_asked += not asked
            self.ungraded += asked and pair.rating is None

    def words(self, queries: int, entries: int) -> str:
        return (
            f"{counted(queries, 'query')}, {counted(entries, 'entry')}, {counted(self.pairs, 'pair')}: "
            f"{self.odd_replies} with a reply that is not just the rating ({self.by_default} of them marked "
            f"as read by the default rule), {self.ungraded} ungraded, {self.not_asked} not asked."
        )


def _entry_blocks(entry: GradedEntry) -> list[Block]:
    blocks: list[Block] = [Heading(entry.text, level=2)]
    if entry.pairs:
        blocks.append(pair_table(entry.pairs))
    return blocks + omission(entry.omitted, "passage", len(entry.pairs))


def pair_table(pairs: Sequence[GradedPair], *, width: int = CELL, title: str = "") -> Table:
    """Passages of one entry, for people; ``width`` is how much is shown of a passage's text."""
    rows: list[tuple[Cell, ...]] = [
        (
            pair.rating,
            pair.answer and shortened(pair.answer, CELL),
            pair.judgment,
            pair.passage_id,
            note(pair),
            shortened(pair.text, width),
        )
        for pair in pairs
    ]
    columns = ("rating", "answer", "judgment", "passage", "note", "text")
    return without_empty_columns(Table(columns, rows, title))


def note(pair: GradedPair) -> str:
    """What is special about a pair: a rating by default, no rating and why, an odd reply."""
    reply = f'"{shortened(pair.reply, CELL)}"' if pair.reply is not None else ""
    if pair.rating is None:
        mark = pair.reason if pair.reason == NOT_ASKED else f"{UNGRADED}: {pair.reason}"
    else:
        mark = pair.source if pair.source not in (None, "number") else ""
    return " ".join(part for part in (mark, f"reply {reply}" if reply else "") if part)
