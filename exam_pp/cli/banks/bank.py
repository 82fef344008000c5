"""``exam-pp bank``: test banks from and to files of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.banks.clinic import COMMANDS as CLINIC
from exam_pp.cli.banks.edit import COMMANDS as EDITING
from exam_pp.cli.groups import Group
from exam_pp.cli.options import FILE, OUTPUT_PATH, log_summary, required_output


@click.group("bank", cls=Group)
def command() -> None:
    """Test banks: import, export, inspect, edit, and find bad questions."""


@command.command("import")
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["tqa", "squad2", "csv", "genq", "nuggetizer", "autojudge"]),
    required=True,
    help="Lessons of Textbook Question Answering, SQuAD2-style JSON, CSV of `bank export`, question banks "
    "by facet in their first shape, nuggets of AutoNuggetizer, nugget banks of AutoJudge.",
)
@required_output("Test bank.")
@click.option(
    "--passages-output",
    type=OUTPUT_PATH,
    help="With squad2: also write the paragraphs, as a passages file.",
)
@click.option(
    "--base",
    type=FILE,
    help="With csv: the bank that the spreadsheet was made from; keeps what it does not show.",
)
def import_command(
    files: tuple[Path, ...], form: Any, output: Path, passages_output: Path | None, base: Path | None
) -> None:
    """Make a test bank from the FILES of another tool or collection.

    TQA: a query for each lesson, with its questions that need no diagram. SQuAD2: a query for each
    paragraph; a question without an answer gets `gold_answers: []`: "unanswerable" is right. CSV: an entry
    whose words were changed gets a new id, so that only it is graded anew. Published banks need no import.
    """
    if passages_output is not None and form not in ("tqa", "squad2"):
        raise click.UsageError("--passages-output goes with --format squad2.")
    if base is not None and form != "csv":
        raise click.UsageError("--base goes with --format csv.")
    if form in ("tqa", "squad2"):
        from exam_pp.phases.interchange.import_bank import import_bank

        log_summary(import_bank(form, files, output, passages_output).lines())
        return
    from exam_pp.phases.interchange.import_bank import import_texts

    log_summary(import_texts(form, files, output, base).lines())


@command.command("export")
@click.argument("bank", type=FILE)
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "nuggetizer", "autojudge"]),
    required=True,
    help="CSV for spreadsheets, nuggets for AutoNuggetizer, nugget banks (v3) for AutoJudge.",
)
@required_output("File to write.")
def export_command(bank: Path, form: Any, output: Path) -> None:
    """Write BANK in the format of a spreadsheet or of another tool, and tell what that leaves out."""
    from exam_pp.phases.interchange.export_bank import export_bank

    log_summary(export_bank(bank, form, output))


for member in (*EDITING, *CLINIC):
    command.add_command(member)
