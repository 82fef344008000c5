"""*Spurious test bank entries*: those that non-relevant passages often cover, most frequent first."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.packed import Remade
from exam_pp.phases.review.verification.spurious import Coverage, Spurious
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Table
from exam_pp.reports.review.verification.base import VerificationReport, omission
from exam_pp.reports.review.verification.pairs import pair_table
from exam_pp.wording import counted

_EXAMPLE = 200
"""Characters of an example passage."""


def summary(found: Spurious) -> str:
    """How many entries there are, and how many of them look spurious."""
    if not found.non_relevant:
        return f"No graded passage is judged below {found.min_judgment}: no entry can look spurious."
    return (
        f"{found.found().added} of {found.entries} entries of {counted(len(found.queries), 'query')} "
        f"are covered (grade {found.min_grade} or higher) by {found.often} or more non-relevant passages "
        f"(judged below {found.min_judgment})."
    )


def blocks(found: Spurious) -> Iterator[Block]:
    """A table of the entries, then examples of each."""
    entries = found.found()
    places = entries.items()
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
        for place, entry in found.at(places)
    ]
    yield Table(columns, rows, decimals=0)
    yield from omission(entries.omitted, "entry", len(places))
    for _, entry in found.at(places):
        yield from _examples(entry)


def _examples(entry: Coverage) -> list[Block]:
    pairs = [example.pair for example in entry.examples]
    if not pairs:
        return []
    heading = Heading(f"({entry.covered[False]}) {entry.text}", level=2)
    return [heading, pair_table(pairs, width=_EXAMPLE, title=entry.heading)]


def table(found: Spurious) -> Table:
    """A row for each entry."""
    columns = (
        "query_id", "entry_id", "entry", "covered_by_non_relevant", "non_relevant", "covered_by_relevant",
        "relevant", "examples",
    )  # fmt: skip
    return Table(columns, Remade(lambda: _rows(found)))


def _rows(found: Spurious) -> Iterator[list[Cell]]:
    for place, entry in found.at(found.found().items()):
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


REPORT = VerificationReport("Spurious bank entries", summary, blocks, table)
