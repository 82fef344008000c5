"""*Spurious test bank entries*: those that non-relevant passages often cover, most frequent first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from exam_pp.reports.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.reports.verification.base import Smallest, VerificationReport, omission, percent
from exam_pp.reports.verification.checked import CheckedPassage, CheckedQuery, GradedPair
from exam_pp.reports.verification.grading import pair_table
from exam_pp.wording import counted

_EXAMPLE = 200
"""Characters of an example passage."""


class _Key(NamedTuple):
    query_id: str
    entry_id: str


@dataclass
class _Coverage:
    """How often judged passages cover an entry, and the worst examples of non-relevant ones."""

    heading: str
    text: str
    examples: Smallest[GradedPair]
    covered: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})
    graded: dict[bool, int] = field(default_factory=lambda: {False: 0, True: 0})

    def share(self, relevant: bool) -> float | None:
        """Per cent of the graded passages that cover the entry."""
        return percent(self.covered[relevant], self.graded[relevant])


class Spurious(VerificationReport):
    """Entries that at least ``often`` passages judged below ``min_judgment`` cover; ``limit`` of them.

    Counts are kept, and ``examples`` passages of each entry. Passages without a judgment do not count.
    """

    title = "Spurious bank entries"
    needs_judgments = True

    def __init__(
        self, min_judgment: int = 1, often: int = 3, limit: int | None = None, examples: int = 3
    ) -> None:
        self._min_judgment, self._often, self._limit, self._examples = min_judgment, often, limit, examples
        self._entries: dict[_Key, _Coverage] = {}
        self._min_grade = 0
        self._queries: set[str] = set()

    def add(self, query: CheckedQuery) -> None:
        """Count, and keep the best examples."""
        self._queries.add(query.query_id)
        for entry_id, text in query.entries.items():
            key = _Key(query.query_id, entry_id)
            if key not in self._entries:
                self._entries[key] = _Coverage(query.heading, text, Smallest(self._examples))
        for passage in query.passages:
            if passage.judgments and passage.pairs:
                self._count(query, passage)

    def _count(self, query: CheckedQuery, passage: CheckedPassage) -> None:
        relevance = max(passage.judgments)
        relevant = relevance >= self._min_judgment
        for entry_id, pair in passage.pairs.items():
            if pair.rating is None:
                continue
            self._min_grade = query.min_grade
            coverage = self._entries[_Key(query.query_id, entry_id)]
            coverage.graded[relevant] += 1
            if pair.rating >= query.min_grade:
                coverage.covered[relevant] += 1
                if not relevant:
                    coverage.examples.add((-pair.rating, relevance, passage.passage_id), pair)

    def summary(self) -> str:
        """How many entries there are, and how many of them look spurious."""
        total = len(self._entries)
        found = len(self._found())
        if not any(entry.graded[False] for entry in self._entries.values()):
            return f"No graded passage is judged below {self._min_judgment}: no entry can look spurious."
        return (
            f"{found} of {total} entries of {counted(len(self._queries), 'query')} are covered (grade "
            f"{self._min_grade} or higher) by {self._often} or more non-relevant passages (judged below "
            f"{self._min_judgment})."
        )

    def pages(self) -> list[Block]:
        """A table of the entries, then examples of each."""
        found = self._found()
        shown = found[: self._limit]
        if not shown:
            return []
        rows: list[list[Cell]] = [
            [
                entry.covered[False],
                entry.share(relevant=False),
                entry.covered[True],
                entry.share(relevant=True),
                key.query_id,
                entry.text,
            ]
            for key, entry in shown
        ]
        columns = ("non-relevant", "% of non-relevant", "relevant", "% of relevant", "query_id", "entry")
        blocks: list[Block] = [
            Paragraph(
                "How many non-relevant and how many relevant passages cover an entry, and what share that is "
                "of those graded on it. A good entry is covered by many relevant passages and few others."
            ),
            Table(columns, rows, decimals=0),
            *omission(len(found) - len(shown), "entry", len(shown)),
        ]
        for _, entry in shown:
            blocks += _examples(entry)
        return blocks

    def table(self) -> Table:
        """A row for each entry."""
        columns = (
            "query_id", "entry_id", "entry", "covered_by_non_relevant", "non_relevant", "covered_by_relevant",
            "relevant", "examples",
        )  # fmt: skip
        rows: list[list[Cell]] = [
            [
                *key,
                entry.text,
                entry.covered[False],
                entry.graded[False],
                entry.covered[True],
                entry.graded[True],
                " ".join(pair.passage_id for pair in entry.examples.items()),
            ]
            for key, entry in self._found()[: self._limit]
        ]
        return Table(columns, rows)

    def _found(self) -> list[tuple[_Key, _Coverage]]:
        """The spurious entries, most frequent first, then those that relevant passages cover least."""
        found = [item for item in self._entries.items() if item[1].covered[False] >= self._often]
        return sorted(found, key=lambda item: (-item[1].covered[False], item[1].covered[True], item[0]))


def _examples(entry: _Coverage) -> list[Block]:
    pairs = entry.examples.items()
    if not pairs:
        return []
    heading = Heading(f"({entry.covered[False]}) {entry.text}", level=2)
    return [heading, pair_table(pairs, width=_EXAMPLE, title=entry.heading)]
