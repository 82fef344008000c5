"""``exam-pp bank clinic``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    GRADED,
    MIN_GRADE,
    MIN_RELEVANT,
    OUTPUT_PATH,
    SCRIPT_FORMATS,
    bank_option,
    emit_rendered,
    filter_options,
    format_option,
    grade_filter,
    log_summary,
    output_option,
    take,
)
from exam_pp.cli.ranges import IntRange, NumberRange, Repetitions
from exam_pp.phases.banks.signs import SIGN_NAMES, SIGNS, ClinicOptions
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Picture, Report, Table
from exam_pp.rendering.pictures.points import CurvePoint, Point, curve, scatter
from exam_pp.results import ALL_QUERIES
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    from exam_pp.phases.banks.clinic import Examination


@click.command("clinic", cls=Command)
@GRADED
@bank_option("Test bank to examine.", required=True)
@filter_options
@MIN_GRADE
@CUTOFF
@MIN_RELEVANT
@click.option(
    "--closed-book",
    type=FILE,
    help="Grades without a passage, made by `exam-pp grade --closed-book`, for the sign closed-book.",
)
@click.option(
    "-S too-easy",
    "too_easy",
    type=NumberRange(0, 1),
    default=0.95,
    show_default=True,
    help="Lowest share of passages that cover an entry, for the sign too-easy.",
)
@click.option(
    "-S often",
    "often",
    type=IntRange(min=1),
    default=3,
    show_default=True,
    help="Lowest number of passages that cover an entry, for the sign discrimination; of non-relevant "
    "passages, for "
    "the sign non-relevant.",
)
@click.option(
    "-S mostly",
    "mostly",
    type=NumberRange(0, 1),
    default=0.5,
    show_default=True,
    help="Lowest share of non-relevant passages among the judged passages that cover an entry, for the sign "
    "non-relevant.",
)
@click.option(
    "-S discrimination",
    "discrimination",
    type=NumberRange(-1, 1),
    default=0.1,
    show_default=True,
    help="Highest correlation of an entry with the rest of the exam, for the sign discrimination.",
)
@click.option(
    "-S samples",
    "samples",
    type=Repetitions(),
    default=20,
    show_default=True,
    help="Number of random banks of each size, for the curve of bank sizes.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random banks.")
@click.option("--limit", type=IntRange(min=1), help="Maximum number of rows of each list.  [default: all]")
@click.option(
    "--also edits",
    "write_edits",
    type=OUTPUT_PATH,
    help="Also write the proposed removals with their reasons to this edits file.",
)
@click.option(
    "--propose",
    "signs",
    multiple=True,
    type=click.Choice(SIGN_NAMES),
    help="Propose removals only for this sign; may be repeated.  [default: all signs]",
)
@format_option()
@output_option()
def command(graded: Path, bank: Path, form: str, output: Path, **options: Any) -> None:
    """Find bad entries of a test bank from the grades in GRADED.

    The command looks for these signs:

    \b
      too-easy        nearly all passages cover the entry
      too-hard        no passage covers it
      non-relevant    mostly non-relevant passages cover it
      discrimination  it does not correlate with the rest of the exam
      duplicate       it has nearly the same text and covering passages as another entry
      closed-book     the model answers it without a passage

    The report also shows how much the leaderboard depends on single entries, and how many entries are enough.

    Examples:

    \b
      exam-pp bank clinic graded.jsonl.gz --bank questions.jsonl
      exam-pp bank clinic graded.jsonl.gz --bank questions.jsonl --propose too-easy \\
        --also edits=removals.json
    """
    from exam_pp.phases.banks.clinic import examine, proposed_edits
    from exam_pp.store.edits import write_edits
    from exam_pp.store.files import check_output

    names = [field.name for field in fields(ClinicOptions) if field.name in options]
    thresholds = ClinicOptions(**take(options, *names))
    closed_book, edits, signs = (options.pop(name) for name in ("closed_book", "write_edits", "signs"))
    limit = options.pop("limit")
    inputs = [graded, bank, *([closed_book] if closed_book else [])]
    for path in (output, *([edits] if edits else [])):
        check_output(path, inputs)
    examination = examine(
        graded, bank, grade_filter=grade_filter(**options), closed_book=closed_book, options=thresholds
    )
    report = clinic_report(examination, flat=form in SCRIPT_FORMATS, limit=limit)
    emit_rendered(report, form, output, inputs)
    if edits is not None:
        proposed = proposed_edits(examination, bank, signs or SIGN_NAMES)
        write_edits(proposed, edits, inputs=inputs)
        removals = counted(len(proposed.bank), "proposed removal")
        log_summary([f"{removals} written to {edits}. Check the file before `exam-pp bank apply`."])


_UNKNOWN = "unknown"


def clinic_report(examination: Examination, *, flat: bool = False, limit: int | None = None) -> Report:
    """Findings, similar entries, the curve of bank sizes and all entries.

    With ``flat``, only the tables of entries, similar entries and the curve. ``limit`` is the largest number
    of rows of a list of findings or similar entries.
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
    rows = [
        [
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
        for entry in examination.entries
    ]
    left_out = {8, 9} if not examination.with_judgments else set()
    left_out |= {10, 11} if not examination.with_systems else set()
    left_out |= {12} if not examination.with_closed_book else set()
    kept = [i for i in range(len(columns)) if i not in left_out]
    return Table([columns[i] for i in kept], [[row[i] for i in kept] for row in rows])


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
