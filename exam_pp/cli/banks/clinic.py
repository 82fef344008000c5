"""``exam-pp bank clinic``."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

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
from exam_pp.phases.banks.signs import SIGN_NAMES, ClinicOptions
from exam_pp.wording import counted


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
    from exam_pp.reports.banks.clinic import clinic_report
    from exam_pp.store.banks.edits import write_edits
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
