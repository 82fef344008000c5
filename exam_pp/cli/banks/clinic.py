"""``exam-pp bank clinic`` and ``closed-book``: which entries of a bank are bad."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.model_options import model_options, take_model_options
from exam_pp.cli.options import (
    CUTOFF,
    FILE,
    GRADED,
    MIN_GRADE,
    OUTPUT_PATH,
    SCRIPT_FORMATS,
    emit,
    filter_options,
    format_option,
    grade_filter,
    log_summary,
    min_relevant_option,
    output_option,
    required_output,
    take,
)
from exam_pp.cli.progress import progress
from exam_pp.cli.ranges import NumberRange
from exam_pp.phases.banks.signs import SIGN_NAMES, ClinicOptions
from exam_pp.wording import counted


@click.command("clinic")
@GRADED
@click.option("--bank", type=FILE, required=True, help="The test bank to examine.")
@filter_options
@MIN_GRADE
@CUTOFF
@min_relevant_option()
@click.option("--closed-book", type=FILE, help="Grades without a passage, of `exam-pp bank closed-book`.")
@click.option(
    "--everybody",
    type=NumberRange(0, 1),
    default=0.95,
    show_default=True,
    help="Pass rate from which an entry is covered by everybody.",
)
@click.option(
    "--often",
    type=click.IntRange(min=1),
    default=3,
    show_default=True,
    help="Passages that must pass before their judgments, or the correlation, are a sign.",
)
@click.option(
    "--mostly",
    type=NumberRange(0, 1),
    default=0.5,
    show_default=True,
    help="Share of non-relevant passages, of the judged ones that pass, that is a sign.",
)
@click.option(
    "--discrimination",
    type=NumberRange(-1, 1),
    default=0.1,
    show_default=True,
    help="Correlation with the other entries that is a sign, or below.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="Random banks of every size, for the curve.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random banks.")
@click.option("--limit", type=click.IntRange(min=1), help="At most so many rows of every list of findings.")
@click.option(
    "--write-edits",
    type=OUTPUT_PATH,
    help="Write proposed removals here, each with its reasons, as an edits file.",
)
@click.option(
    "--propose",
    "signs",
    multiple=True,
    type=click.Choice(SIGN_NAMES),
    help="Signs for which a removal is proposed; may be repeated.  [default: all]",
)
@format_option()
@output_option()
def clinic_command(graded: Path, bank: Path, form: str, output: Path, **options: Any) -> None:
    """Find bad entries of a bank by the grades in GRADED.

    Entries that everybody or nobody covers, that non-relevant passages cover, that have nothing to do with
    the rest of the exam, that repeat others, or that the model answers without a passage; how much the
    leaderboard hangs on a single entry, and how many entries are enough.
    """
    from exam_pp.phases.banks.clinic import examine, proposed_edits
    from exam_pp.rendering.render import render
    from exam_pp.reports.banks.clinic import clinic_report
    from exam_pp.store.banks.edits import write_edits
    from exam_pp.store.files import check_output

    names = [field.name for field in fields(ClinicOptions) if field.name in options]
    chosen = ClinicOptions(**take(options, *names))
    closed_book, edits, signs = (options.pop(name) for name in ("closed_book", "write_edits", "signs"))
    limit = options.pop("limit")
    inputs = [graded, bank, *([closed_book] if closed_book else [])]
    for path in (output, *([edits] if edits else [])):
        check_output(path, inputs)
    found = examine(
        graded, bank, grade_filter=grade_filter(**options), closed_book=closed_book, options=chosen
    )
    emit(render(clinic_report(found, flat=form in SCRIPT_FORMATS, limit=limit), form), output, inputs)
    if edits is not None:
        proposed = proposed_edits(found, bank, signs or SIGN_NAMES)
        write_edits(proposed, edits, inputs=inputs)
        removals = counted(len(proposed.bank), "removal")
        log_summary([f"Proposed in {edits}: {removals}; read before `exam-pp bank apply`."])


@click.command("closed-book")
@click.argument("bank", type=FILE)
@required_output("Graded file.")
@click.option("--prompt-class", required=True, help="Prompt to grade with, as for the passages.")
@model_options()
def closed_book_command(bank: Path, output: Path, prompt_class: str, **options: Any) -> None:
    """Grade every entry of BANK without a passage: what the model knows by heart.

    The file holds one empty passage for each query; name it in `exam-pp bank clinic --closed-book`.
    """
    from exam_pp.phases.banks.closed_book import closed_book
    from exam_pp.prompts import PROMPTS

    model = take_model_options(options)
    with progress("Grading", "pairs") as advance:
        summary = closed_book(bank, output, model, PROMPTS.get(prompt_class), advance=advance)
    log_summary(summary.lines())


COMMANDS = (clinic_command, closed_book_command)
