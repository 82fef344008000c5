"""*Spurious test bank entries*: those that non-relevant passages often cover, most frequent first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from exam_pp.packed import PackedMapping, Remade
from exam_pp.phases.review.verification.base import Smallest, VerificationReport, omission, percent
from exam_pp.phases.review.verification.checked import CheckedPassage, CheckedQuery, GradedPair
from exam_pp.phases.review.verification.grading import pair_table
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.wording import counted

_EXAMPLE = 200
"""Characters of an example passage."""


class _Place(NamedTuple):
    """Where a spurious entry stands: most frequent first, then those that relevant passages cover least."""

    minus_non_relevant: int
    relevant: int
    query_id: str
    entry_id: str


class _Example(NamedTuple):
    minus_rating: int
    relevance: int
    pair: GradedPair


@dataclass
class _Coverage:
    """How often judged passages cover an entry, and the worst examples of non-relevant ones.

    ``covered`` and ``graded`` count non-relevant passages, then relevant ones.
    """

    heading: str
    text: str
    examples: list[_Example] = field(default_factory=list)
    covered: list[int] = field(default_factory=lambda: [0, 0])
    graded: list[int] = field(default_factory=lambda: [0, 0])

    def share(self, relevant: bool) -> float | None:
        """Per cent of the graded passages that cover the entry."""
        return percent(self.covered[relevant], self.graded[relevant])


_DECODER = msgspec.json.Decoder(dict[str, _Coverage])


class Spurious(VerificationReport):
    """Entries that at least ``often`` passages judged below ``min_judgment`` cover; ``limit`` of them.

    Counts are kept, and ``examples`` passages of each entry. Passages without a judgment do not count.
    One query is in memory at a time, the others are in a temporary file.
    """

    title = "Spurious bank entries"
    needs_judgments = True

    def __init__(
        self, min_judgment: int = 1, often: int = 3, limit: int | None = None, examples: int = 3
    ) -> None:
        self._min_judgment, self._often, self._limit, self._examples = min_judgment, often, limit, examples
        self._queries = PackedMapping[dict[str, _Coverage]](msgspec.json.encode, _DECODER.decode)
        self._entries = self._non_relevant = self._min_grade = 0

    def add(self, query: CheckedQuery) -> None:
        """Count, and keep the best examples."""
        entries = self._queries.get(query.query_id, {})
        self._entries -= len(entries)
        for entry_id, text in query.entries.items():
            entries.setdefault(entry_id, _Coverage(query.heading, text))
        for passage in query.passages:
            if passage.judgments and passage.pairs:
                self._count(query, passage, entries)
        for coverage in entries.values():
            coverage.examples = sorted(coverage.examples, key=_order)[: self._examples]
        self._entries += len(entries)
        self._queries[query.query_id] = entries

    def _count(self, query: CheckedQuery, passage: CheckedPassage, entries: dict[str, _Coverage]) -> None:
        relevance = max(passage.judgments)
        relevant = relevance >= self._min_judgment
        for entry_id, pair in passage.pairs.items():
            if pair.rating is None:
                continue
            self._min_grade = query.min_grade
            coverage = entries[entry_id]
            coverage.graded[relevant] += 1
            self._non_relevant += not relevant
            if pair.rating >= query.min_grade:
                coverage.covered[relevant] += 1
                if not relevant:
                    coverage.examples.append(_Example(-pair.rating, relevance, pair))

    def summary(self) -> str:
        """How many entries there are, and how many of them look spurious."""
        if not self._non_relevant:
            return f"No graded passage is judged below {self._min_judgment}: no entry can look spurious."
        return (
            f"{self._found().added} of {self._entries} entries of {counted(len(self._queries), 'query')} "
            f"are covered (grade {self._min_grade} or higher) by {self._often} or more non-relevant passages "
            f"(judged below {self._min_judgment})."
        )

    def blocks(self) -> Iterator[Block]:
        """A table of the entries, then examples of each."""
        found = self._found()
        places = found.items()
        if not places:
            return
        yield Paragraph(
            "How many non-relevant and how many relevant passages cover an entry, and what share that is of "
            "those graded on it. A good entry is covered by many relevant passages and few others."
        )
        columns = ("non-relevant", "% of non-relevant", "relevant", "% of relevant", "query_id", "entry")
        rows: list[list[Cell]] = [
            [
                entry.covered[False],
                entry.share(relevant=False),
                entry.covered[True],
                entry.share(relevant=True),
                place.query_id,
                entry.text,
            ]
            for place, entry in self._at(places)
        ]
        yield Table(columns, rows, decimals=0)
        yield from omission(found.omitted, "entry", len(places))
        for _, entry in self._at(places):
            yield from _examples(entry)

    def table(self) -> Table:
        """A row for each entry."""
        columns = (
            "query_id", "entry_id", "entry", "covered_by_non_relevant", "non_relevant", "covered_by_relevant",
            "relevant", "examples",
        )  # fmt: skip
        return Table(columns, Remade(self._rows))

    def _rows(self) -> Iterator[list[Cell]]:
        for place, entry in self._at(self._found().items()):
            yield [
                place.query_id,
                place.entry_id,
                entry.text,
                entry.covered[False],
                entry.graded[False],
                entry.covered[True],
                entry.graded[True],
                " ".join(example.pair.passage_id for example in entry.examples),
            ]

    def _found(self) -> Smallest[_Place]:
        """The spurious entries."""
        found = Smallest[_Place](self._limit)
        for query_id, entries in self._queries.items():
            for entry_id, entry in entries.items():
                if entry.covered[False] >= self._often:
                    place = _Place(-entry.covered[False], entry.covered[True], query_id, entry_id)
                    found.add(place, place)
        return found

    def _at(self, places: list[_Place]) -> Iterator[tuple[_Place, _Coverage]]:
        for place in places:
            yield place, self._queries[place.query_id][place.entry_id]


def _order(example: _Example) -> tuple[int, int, str]:
    return example.minus_rating, example.relevance, example.pair.passage_id


def _examples(entry: _Coverage) -> list[Block]:
    pairs = [example.pair for example in entry.examples]
    if not pairs:
        return []
    heading = Heading(f"({entry.covered[False]}) {entry.text}", level=2)
    return [heading, pair_table(pairs, width=_EXAMPLE, title=entry.heading)]
