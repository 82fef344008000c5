"""The clinic of test banks: findings for people, and flat tables for scripts."""

from __future__ import annotations

from collections.abc import Sequence

from exam_pp.metrics.clinic import EntryHealth
from exam_pp.phases.banks.clinic import Examination
from exam_pp.phases.banks.signs import SIGNS
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.results import ALL_QUERIES

_UNKNOWN = "not known"


def clinic_report(found: Examination, *, flat: bool = False, limit: int | None = None) -> Report:
    """Findings, spurious entries, look-alikes, all entries and the curve of bank size.

    ``flat`` gives the tables of entries, look-alikes and curve alone. ``limit`` bounds the rows of every
    list but the last ones.
    """
    tables = [_entries(found), _pairs(found), _curve(found, of_queries=True)]
    title = f"Clinic: {found.prompt_class} by {found.model}, grades from {found.min_grade}"
    if flat:
        return Report(title, [table for table in tables if table.rows])
    blocks: list[Block] = [Paragraph(note) for note in found.notes]
    blocks.append(_summary(found))
    for sign in SIGNS:
        rows = [
            (f.query_id, found.text(f.query_id, f.entry_id), f.reason, f.entry_id)
            for f in found.findings
            if f.sign == sign.name
        ]
        if rows:
            blocks.append(Heading(sign.title))
            blocks += _listed(Table(("query_id", "entry", "reason", "entry_id"), rows), limit)
    if found.with_judgments:
        blocks.append(Heading("Covered by non-relevant passages, most often first"))
        blocks += _listed(_spurious(found), limit)
    if found.pairs:
        blocks.append(Heading("Alike in words or in behaviour"))
        blocks += _listed(tables[1], limit)
    if found.curve:
        blocks += [Heading("How many entries are enough"), Paragraph(_CURVE_WORDS), _curve(found)]
    blocks += [Heading("All entries"), Paragraph(_ENTRY_WORDS.format(m=found.min_grade)), tables[0]]
    return Report(title, blocks)


_CURVE_WORDS = (
    "Kendall's tau-b between the leaderboard of so many random entries a query and that of the full bank: "
    "mean and lowest value of the samples, for all queries together."
)
_ENTRY_WORDS = (
    "pass: share of the graded passages with grade {m} or more. r: correlation of passing the entry with the "
    "number of other entries passed. bits: entropy of the grades. systems: how many cover the entry. tau: of "
    "the leaderboard without the entry against the whole one. judged, non-relevant: of those that pass."
)


def _listed(table: Table, limit: int | None) -> list[Block]:
    if limit is None or len(table.rows) <= limit:
        return [table]
    rest = len(table.rows) - limit
    return [
        Table(table.columns, table.rows[:limit], decimals=table.decimals),
        Paragraph(f"... and {rest} more."),
    ]


def _summary(found: Examination) -> Table:
    counts: list[tuple[Cell, Cell]] = [("examined", len(found.entries))]
    known = {"non-relevant": found.with_judgments, "closed-book": found.with_closed_book}
    for sign in SIGNS:
        number = sum(finding.sign == sign.name for finding in found.findings)
        counts.append((sign.title, number if known.get(sign.name, True) else _UNKNOWN))
    return Table(("entries", "number"), counts)


def _spurious(found: Examination) -> Table:
    """As the spurious-entries report of the workbench paper (section 4.4): most frequent first."""
    columns = ("query_id", "entry", "non-relevant", "judged", "share", "entry_id")
    hit = sorted((e for e in found.entries if e.non_relevant), key=lambda e: (-e.non_relevant, e.entry_id))
    rows: list[Sequence[Cell]] = [
        (e.query_id, found.text(e.query_id, e.entry_id), e.non_relevant, e.judged, e.non_relevant / e.judged,
         e.entry_id)
        for e in hit
    ]  # fmt: skip
    return Table(columns, rows)


def _entries(found: Examination) -> Table:
    signs: dict[tuple[str, str], list[str]] = {}
    for finding in found.findings:
        of_entry = signs.setdefault((finding.query_id, finding.entry_id), [])
        if finding.sign not in of_entry:
            of_entry.append(finding.sign)
    columns = [
        "query_id", "entry", "signs", "asked", "passing", "pass", "r", "bits", "judged", "non-relevant",
        "systems", "tau", "closed book", "entry_id",
    ]  # fmt: skip
    rows = [_entry_row(found, entry, signs) for entry in found.entries]
    left_out = {8, 9} if not found.with_judgments else set()
    left_out |= {10, 11} if not found.with_systems else set()
    left_out |= {12} if not found.with_closed_book else set()
    kept = [i for i in range(len(columns)) if i not in left_out]
    return Table([columns[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _entry_row(found: Examination, entry: EntryHealth, signs: dict[tuple[str, str], list[str]]) -> list[Cell]:
    return [
        entry.query_id,
        found.text(entry.query_id, entry.entry_id),
        ", ".join(signs.get((entry.query_id, entry.entry_id), [])),
        entry.asked,
        entry.passing,
        entry.pass_rate,
        entry.discrimination,
        entry.entropy,
        entry.judged,
        entry.non_relevant,
        entry.systems,
        entry.tau,
        entry.closed_book,
        entry.entry_id,
    ]


def _pairs(found: Examination) -> Table:
    columns = ("query_id", "first", "second", "words", "behaviour", "first_id", "second_id")
    rows: list[Sequence[Cell]] = [
        (p.query_id, found.text(p.query_id, p.first), found.text(p.query_id, p.second), p.similarity,
         p.behaviour, p.first, p.second)
        for p in found.pairs
    ]  # fmt: skip
    return Table(columns, rows, decimals=2)


def _curve(found: Examination, *, of_queries: bool = False) -> Table:
    columns = ("query_id", "entries", "tau", "lowest", "samples")
    rows: list[Sequence[Cell]] = [
        tuple(point) for point in found.curve if of_queries or point.query_id == ALL_QUERIES
    ]
    return Table(columns, rows)
