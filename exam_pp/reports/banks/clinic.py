"""Report of the clinic of test banks: findings, and flat tables for scripts."""

from __future__ import annotations

from collections.abc import Sequence

from exam_pp.metrics.clinic import EntryHealth
from exam_pp.phases.banks.clinic import Examination
from exam_pp.phases.banks.signs import SIGNS
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.points import CurvePoint, Point, curve, scatter
from exam_pp.results import ALL_QUERIES

_UNKNOWN = "unknown"


def clinic_report(examination: Examination, *, flat: bool = False, limit: int | None = None) -> Report:
    """Findings, spurious entries, similar entries, the curve of bank sizes and all entries.

    With ``flat``, only the tables of entries, similar entries and the curve. ``limit`` is the largest number
    of rows of a list of findings, spurious or similar entries.
    """
    tables = [_entries(examination), _pairs(examination), _curve(examination, of_queries=True)]
    grader = f"{examination.prompt_class} by {examination.model}"
    title = f"Clinic: {grader}, covered from grade {examination.min_grade}"
    if flat:
        return Report(title, [table for table in tables if table.rows], examination.provenance)
    blocks: list[Block] = [Paragraph(note) for note in examination.notes]
    blocks.append(_summary(examination))
    for sign in SIGNS:
        rows = [
            (f.query_id, examination.text(f.query_id, f.entry_id), f.reason, f.entry_id)
            for f in examination.findings
            if f.sign == sign.name
        ]
        if rows:
            blocks.append(Heading(sign.title))
            blocks += _listed(Table(("query_id", "entry", "reason", "entry_id"), rows), limit)
    spurious = _spurious(examination)
    if spurious.rows:
        blocks += [Heading("Entries covered by non-relevant passages"), *_listed(spurious, limit)]
    if examination.pairs:
        blocks.append(Heading("Entries with similar texts or covering passages"))
        blocks += [*_listed(tables[1], limit), Paragraph(_PAIRS_TEXT)]
    if examination.curve:
        blocks += [
            Heading(_CURVE_TITLE),
            Paragraph(_CURVE_TEXT),
            curve_picture(examination),
            _curve(examination),
        ]
    blocks += [Heading("All entries"), entry_picture(examination)]
    blocks += [Paragraph(_COLUMNS_TEXT.format(m=examination.min_grade)), tables[0]]
    return Report(title, blocks, examination.provenance)


_CURVE_TITLE = "How many entries are enough"
_SAME_ORDER = 0.9
"""Leaderboards with at least this τ are often taken as equal (Voorhees 2001)."""
_CURVE_TEXT = (
    "Kendall's tau-b between the leaderboard of a bank with this number of random entries per query and the "
    "leaderboard of the full bank: mean and lowest value of the samples, over all queries."
)
_PAIRS_TEXT = (
    "words: similarity of the two texts, 0 to 1 (Dice's coefficient of their word stems without stop words); "
    "empty if the texts are not similar. behaviour: share of the passages covering one of the entries that "
    "cover both (Jaccard's coefficient); empty if fewer than 5 passages cover one of them."
)
_COLUMNS_TEXT = (
    "asked: number of graded passages. passing: number of passages that cover the entry (grade {m} or more). "
    "pass: passing / asked. r: correlation of covering the entry with the number of other entries covered. "
    "bits: entropy of the grades. judged, non-relevant: numbers of the passing passages with a judgment, and "
    "with a non-relevant one. systems: number of systems that cover the entry. tau: Kendall's tau-b of the "
    "leaderboards with and without the entry."
)


def curve_picture(examination: Examination) -> Picture:
    """Kendall's τ-b with the full bank by the number of entries, over all queries."""
    points = [
        CurvePoint(point.size, point.tau, point.lowest)
        for point in examination.curve
        if point.query_id == ALL_QUERIES
    ]
    band = "the lowest of the samples"
    return curve(points, "entries per query", "Kendall's tau-b", _CURVE_TITLE, band=band, enough=_SAME_ORDER)


def entry_picture(examination: Examination) -> Picture:
    """The discrimination of the entries against their pass rate, with the entries that have signs marked."""
    suspected = {(finding.query_id, finding.entry_id) for finding in examination.findings}
    points = [
        Point(
            examination.text(entry.query_id, entry.entry_id),
            entry.pass_rate,
            entry.discrimination,
            (entry.query_id, entry.entry_id) in suspected,
        )
        for entry in examination.entries
    ]
    return scatter(
        points,
        "pass: share of graded passages that cover the entry",
        "r: discrimination",
        "Easy and hard entries, and how well they discriminate",
        mark="entries with a sign",
        noun="entry",
    )


def _listed(table: Table, limit: int | None) -> list[Block]:
    if limit is None or len(table.rows) <= limit:
        return [table]
    rest = len(table.rows) - limit
    return [
        Table(table.columns, table.rows[:limit], decimals=table.decimals),
        Paragraph(f"... and {rest} more."),
    ]


def _summary(examination: Examination) -> Table:
    counts: list[tuple[Cell, Cell]] = [("examined", len(examination.entries))]
    known = {"non-relevant": examination.with_judgments, "closed-book": examination.with_closed_book}
    for sign in SIGNS:
        number = sum(finding.sign == sign.name for finding in examination.findings)
        counts.append((sign.title, number if known.get(sign.name, True) else _UNKNOWN))
    return Table(("entries", "number"), counts)


def _spurious(examination: Examination) -> Table:
    """The spurious-entries report of the workbench paper (section 4.4), most frequent first."""
    columns = ("query_id", "entry", "non-relevant", "judged", "share", "entry_id")
    spurious = [entry for entry in examination.entries if entry.non_relevant]
    rows: list[Sequence[Cell]] = [
        (e.query_id, examination.text(e.query_id, e.entry_id), e.non_relevant, e.judged,
         e.non_relevant / e.judged, e.entry_id)
        for e in sorted(spurious, key=lambda e: (-e.non_relevant, e.entry_id))
    ]  # fmt: skip
    return Table(columns, rows)


def _entries(examination: Examination) -> Table:
    signs: dict[tuple[str, str], list[str]] = {}
    for finding in examination.findings:
        of_entry = signs.setdefault((finding.query_id, finding.entry_id), [])
        if finding.sign not in of_entry:
            of_entry.append(finding.sign)
    columns = [
        "query_id", "entry", "signs", "asked", "passing", "pass", "r", "bits", "judged", "non-relevant",
        "systems", "tau", "closed book", "entry_id",
    ]  # fmt: skip
    rows = [_entry_row(examination, entry, signs) for entry in examination.entries]
    left_out = {8, 9} if not examination.with_judgments else set()
    left_out |= {10, 11} if not examination.with_systems else set()
    left_out |= {12} if not examination.with_closed_book else set()
    kept = [i for i in range(len(columns)) if i not in left_out]
    return Table([columns[i] for i in kept], [[row[i] for i in kept] for row in rows])


def _entry_row(
    examination: Examination, entry: EntryHealth, signs: dict[tuple[str, str], list[str]]
) -> list[Cell]:
    return [
        entry.query_id,
        examination.text(entry.query_id, entry.entry_id),
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


def _pairs(examination: Examination) -> Table:
    columns = ("query_id", "first", "second", "words", "behaviour", "first_id", "second_id")
    rows: list[Sequence[Cell]] = [
        (p.query_id, examination.text(p.query_id, p.first), examination.text(p.query_id, p.second),
         p.similarity, p.behaviour, p.first, p.second)
        for p in examination.pairs
    ]  # fmt: skip
    return Table(columns, rows, decimals=2)


def _curve(examination: Examination, *, of_queries: bool = False) -> Table:
    columns = ("query_id", "entries", "tau", "lowest", "samples")
    rows: list[Sequence[Cell]] = [
        tuple(point) for point in examination.curve if of_queries or point.query_id == ALL_QUERIES
    ]
    return Table(columns, rows)
