"""Report on spurious bank entries: entries that non-relevant passages often cover, most frequent first."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.packed import LazySequence
from exam_pp.phases.review.verification.spurious import Coverage, Spurious
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.reports.review.verification.base import VerificationReport, omission
from exam_pp.reports.review.verification.pairs import pair_table
from exam_pp.text.wording import counted

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
