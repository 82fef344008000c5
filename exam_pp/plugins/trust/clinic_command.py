"""``exam-pp bank clinic``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    CUTOFF,
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
)
from exam_pp.plugins.trust.clinic import SIGNS
from exam_pp.rendering.document import Block, Cell, Heading, Paragraph, Report, Table
from exam_pp.text.wording import counted

if TYPE_CHECKING:
    from exam_pp.plugins.trust.clinic import Examination


@click.command("clinic", cls=Command)
@GRADED
@bank_option("Test bank to examine.", required=True)
@filter_options
@MIN_GRADE
@CUTOFF
@MIN_RELEVANT
@click.option(
    "--also edits",
    "edits",
    type=OUTPUT_PATH,
    help="Also write the proposed removals with their reasons to this edits file.",
)
@click.option(
    "--propose",
    "signs",
    multiple=True,
    type=click.Choice(list(SIGNS)),
    help="Propose removals only for this sign; may be repeated.  [default: all signs]",
)
@format_option()
@output_option()
def command(
    *,
    graded: Path,
    bank: Path,
    min_grade: int | None,
    cutoff: int | None,
    min_relevant: int,
    edits: Path | None,
    signs: tuple[str, ...],
    form: str,
    output: Path,
    **criteria: Any,
) -> None:
    """Find bad entries of a test bank from the grades in GRADED.

    The command looks for these signs:

    \b
      too-easy        95 % of the passages or more cover the entry
      too-hard        no passage covers it
      non-relevant    3 non-relevant passages or more, half of the judged ones, cover it
      discrimination  it does not correlate with the rest of the exam (r is 0.1 or less)
      always-made     95 % of the passages or more make this mistake (its weight is below 0)

    The report also shows how much the leaderboard depends on single entries. If GRADED is a file of `exam-pp
    grade --closed-book`, too-easy are the entries that the model answers without a passage. `exam-pp bank
    show` lists entries with similar texts.

    Examples:

    \b
      exam-pp bank clinic graded.jsonl.gz --bank questions.jsonl
      exam-pp bank clinic graded.jsonl.gz --bank questions.jsonl --propose too-easy \\
        --also edits=removals.json
    """
    from exam_pp.plugins.trust.clinic import examine, proposed_edits
    from exam_pp.store.edits import write_edits
    from exam_pp.store.files import check_output

    inputs = [graded, bank]
    for path in (output, *([edits] if edits else [])):
        check_output(path, inputs)
    examination = examine(
        graded, bank,
        grade_filter=grade_filter(**criteria), min_grade=min_grade, cutoff=cutoff,
        min_relevant=min_relevant,
    )  # fmt: skip
    emit_rendered(clinic_report(examination, flat=form in SCRIPT_FORMATS), form, output, inputs)
    if edits is not None:
        proposed = proposed_edits(examination, bank, signs or tuple(SIGNS))
        write_edits(proposed, edits, inputs=inputs)
        removals = counted(len(proposed.bank), "proposed removal")
        log_summary([f"{removals} written to {edits}. Check the file before `exam-pp bank apply`."])


def clinic_report(examination: Examination, *, flat: bool = False) -> Report:
    """The entries with each sign, and all entries; with ``flat``, only the table of all entries."""
    grader = f"{examination.prompt_class} by {examination.model}"
    title = f"Clinic: {grader}, covered from grade {examination.min_grade}"
    if flat:
        return Report(title, [_entries(examination)], examination.provenance)
    blocks: list[Block] = [Paragraph(note) for note in examination.notes]
    blocks.append(Paragraph(f"{counted(len(examination.entries), 'entry', 'entries')} examined."))
    for sign, heading in SIGNS.items():
        rows = [
            (e.query_id, e.text, e.signs[sign], e.entry_id) for e in examination.entries if sign in e.signs
        ]
        if rows:
            columns = ("query_id", "entry", "reason", "entry_id")
            blocks += [Heading(f"{heading}: {len(rows)}"), Table(columns, rows)]
    about = Paragraph(_COLUMNS_TEXT.format(m=examination.min_grade))
    blocks += [Heading("All entries"), about, _entries(examination)]
    return Report(title, blocks, examination.provenance)


_COLUMNS_TEXT = (
    "asked: number of graded passages. passing: number of passages that cover the entry (grade {m} or more). "
    "pass: passing / asked. r: correlation of covering the entry with the number of other entries covered. "
    "judged, non-relevant: numbers of the passing passages with a judgment, and with a non-relevant one. "
    "systems: number of systems that cover the entry. tau: Kendall's tau-b of the leaderboards with and "
    "without the entry."
)


def _entries(examination: Examination) -> Table:
    columns = (
        "query_id", "entry", "signs", "asked", "passing", "pass", "r", "judged", "non-relevant", "systems",
        "tau", "entry_id",
    )  # fmt: skip
    rows: list[tuple[Cell, ...]] = [
        (e.query_id, e.text, ", ".join(e.signs), e.asked, e.passing, e.pass_rate, e.discrimination, e.judged,
         e.non_relevant, e.systems, e.tau, e.entry_id)
        for e in examination.entries
    ]  # fmt: skip
    return Table(columns, rows)
