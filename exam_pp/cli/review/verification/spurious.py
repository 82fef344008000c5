"""Report on spurious bank entries: entries that non-relevant passages often cover, most frequent first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from exam_pp.cli.review.verification.base import Selection, Smallest, VerificationReport, omission
from exam_pp.cli.review.verification.cards import pair_table
from exam_pp.packed import LazySequence, PackedMapping
from exam_pp.phases.review.checked_passages import CheckedPassage, CheckedQuery, GradedPair
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.text.wording import counted

_EXAMPLES = 3
"""Passages that are kept of each entry."""


class SpuriousKey(NamedTuple):
    """Sort key of a spurious entry: most non-relevant covering passages first, then fewest relevant."""

    minus_non_relevant: int
    relevant: int
    query_id: str
    entry_id: str


class Example(NamedTuple):
    """A non-relevant passage that covers an entry; sorted by highest rating, then by lowest judgment."""

    minus_rating: int
    relevance: int
    pair: GradedPair


@dataclass
class Coverage:
    """How many judged passages cover an entry, with examples of non-relevant passages.

    ``covered`` and ``graded`` hold two counts: of non-relevant passages, and of relevant passages.
    """

    heading: str
    text: str
    examples: list[Example] = field(default_factory=list)
    covered: list[int] = field(default_factory=lambda: [0, 0])
    graded: list[int] = field(default_factory=lambda: [0, 0])

    def share(self, relevant: bool) -> float | None:
        """The percentage of graded passages that cover the entry, or None."""
        graded = self.graded[relevant]
        return 100 * self.covered[relevant] / graded if graded else None


_DECODER = msgspec.json.Decoder(dict[str, Coverage])


class Spurious(Selection):
    """The first ``limit`` entries that at least ``often`` passages judged below ``min_judgment`` cover.

    ``entries`` is the number of all entries, ``non_relevant`` the number of graded pairs with a non-relevant
    passage. Counts and up to three passages of each entry are kept. Passages without a judgment do not count.
    Only one query is in memory at a time; the rest is in a temporary file.
    """

    needs_judgments = True

    def __init__(self, min_judgment: int = 1, often: int = 3, limit: int | None = None) -> None:
        self.min_judgment, self.often, self._limit = min_judgment, often, limit
        self.queries = PackedMapping[dict[str, Coverage]](msgspec.json.encode, _DECODER.decode)
        self.entries = self.non_relevant = self.min_grade = 0

    def add(self, query: CheckedQuery) -> None:
        """Count the passages, and keep the best examples."""
        entries = self.queries.get(query.query_id, {})
        self.entries -= len(entries)
        for entry_id, text in query.entries.items():
            entries.setdefault(entry_id, Coverage(query.heading, text))
        for passage in query.passages:
            if passage.judgments and passage.pairs:
                self._count(query, passage, entries)
        for coverage in entries.values():
            coverage.examples = sorted(coverage.examples, key=_order)[:_EXAMPLES]
        self.entries += len(entries)
        self.queries[query.query_id] = entries

    def _count(self, query: CheckedQuery, passage: CheckedPassage, entries: dict[str, Coverage]) -> None:
        relevance = max(passage.judgments)
        relevant = relevance >= self.min_judgment
        for entry_id, pair in passage.pairs.items():
            if pair.rating is None:
                continue
            self.min_grade = query.min_grade
            coverage = entries[entry_id]
            coverage.graded[relevant] += 1
            self.non_relevant += not relevant
            if pair.rating >= query.min_grade:
                coverage.covered[relevant] += 1
                if not relevant:
                    coverage.examples.append(Example(-pair.rating, relevance, pair))

    def spurious_entries(self) -> Smallest[SpuriousKey]:
        """The spurious entries, most frequent first."""
        keys = Smallest[SpuriousKey](self._limit)
        for query_id, entries in self.queries.items():
            for entry_id, entry in entries.items():
                if entry.covered[False] >= self.often:
                    key = SpuriousKey(-entry.covered[False], entry.covered[True], query_id, entry_id)
                    keys.add(key, key)
        return keys

    def coverage_of(self, keys: list[SpuriousKey]) -> Iterator[tuple[SpuriousKey, Coverage]]:
        """The keys with the coverage of their entries; only one coverage is in memory at a time."""
        for key in keys:
            yield key, self.queries[key.query_id][key.entry_id]


def _order(example: Example) -> tuple[int, int, str]:
    return example.minus_rating, example.relevance, example.pair.passage_id


_EXAMPLE = 200
"""Characters of an example passage."""


def summary(selection: Spurious) -> str:
    """The number of entries, and of entries that look spurious."""
    if not selection.non_relevant:
        return f"No graded passage is judged below {selection.min_judgment}, so no entry can look spurious."
    spurious = selection.spurious_entries().added
    return (
        f"{spurious} of {selection.entries} entries of {counted(len(selection.queries), 'query')} are "
        f"covered (grade {selection.min_grade} or higher) by {selection.often} or more non-relevant "
        f"passages (judged below {selection.min_judgment})."
    )


def blocks(selection: Spurious) -> Iterator[Block]:
    """A table of the entries, then examples for each entry."""
    entries = selection.spurious_entries()
    keys = entries.items()
    if not keys:
        return
    yield Paragraph(
        "The number of non-relevant and of relevant passages that cover an entry, and their percentage of "
        "the passages graded on it. A good entry is covered by many relevant and few non-relevant passages."
    )
    columns = ("non-relevant", "% of non-relevant", "relevant", "% of relevant", "query_id", "entry")
    rows: list[list[Cell]] = [
        [
            entry.covered[False],
            entry.share(relevant=False),
            entry.covered[True],
            entry.share(relevant=True),
            key.query_id,
            entry.text,
        ]
        for key, entry in selection.coverage_of(keys)
    ]
    yield Table(columns, rows, decimals=0)
    yield from omission(entries.omitted, "entry", len(keys))
    for _, entry in selection.coverage_of(keys):
        yield from _examples(entry)


def _examples(entry: Coverage) -> list[Block]:
    pairs = [example.pair for example in entry.examples]
    if not pairs:
        return []
    heading = Heading(f"({entry.covered[False]}) {entry.text}", level=2)
    return [heading, pair_table(pairs, width=_EXAMPLE, title=entry.heading)]


def table(selection: Spurious) -> Table:
    """A row per entry."""
    columns = (
        "query_id", "entry_id", "entry", "covered_by_non_relevant", "non_relevant", "covered_by_relevant",
        "relevant", "examples",
    )  # fmt: skip
    return Table(columns, LazySequence(lambda: _rows(selection)))


def _rows(selection: Spurious) -> Iterator[list[Cell]]:
    for key, entry in selection.coverage_of(selection.spurious_entries().items()):
        yield [
            key.query_id,
            key.entry_id,
            entry.text,
            entry.covered[False],
            entry.graded[False],
            entry.covered[True],
            entry.graded[True],
            " ".join(example.pair.passage_id for example in entry.examples),
        ]


REPORT = VerificationReport("Spurious bank entries", summary, blocks, table)
