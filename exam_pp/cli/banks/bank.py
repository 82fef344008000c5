"""The command group ``exam-pp bank``, with the import of test banks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.banks.clinic import clinic_command
from exam_pp.cli.banks.edit import COMMANDS as EDITING
from exam_pp.cli.banks.importance import command as importance
from exam_pp.cli.command import Group
from exam_pp.cli.options import FILE, OUTPUT_PATH, log_summary, required_output


@click.group("bank", cls=Group)
def command() -> None:
    """Import, inspect and edit test banks, and find bad entries."""


@command.command("import")
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--from",
    "form",
    type=click.Choice(["tqa", "squad2", "csv", "genq", "nuggetizer", "autojudge", "bank"]),
    required=True,
    help="Textbook Question Answering (tqa), SQuAD2 JSON (squad2), spreadsheet of "
    "`exam-pp convert --to bank-csv` (csv), first published format of question banks (genq), nuggets of "
    "AutoNuggetizer (nuggetizer), nugget bank of AutoJudge (autojudge), or test bank (bank).",
)
@required_output("Test bank to write.")
@click.option(
    "--also passages",
    "passages_output",
    type=OUTPUT_PATH,
    help="With --from squad2: also write the paragraphs as a passages file.",
)
@click.option(
    "--bank",
    "base",
    type=FILE,
    help="With --from csv: the bank that was exported; fields that the spreadsheet lacks are taken from it.",
)
@click.option(
    "--title-queries",
    is_flag=True,
    help="Make queries with ids `query/facet` facets of the title query `query`, as TREC CAR needs it.",
)
def import_command(
    files: tuple[Path, ...],
    form: Any,
    output: Path,
    passages_output: Path | None,
    base: Path | None,
    title_queries: bool,
) -> None:
    """Make a test bank from the FILES of another tool or collection.

    Question banks in the published format of the workbench paper need no import.

    \b
      tqa     every lesson becomes a query with the questions that need no diagram
      squad2  every paragraph becomes a query; a question without an answer gets
              `gold_answers: []`, so that "unanswerable" is the correct reply
      csv     an entry with a changed text gets a new id, so that `exam-pp grade`
              grades only this entry again

    Example:

    \b
      exam-pp bank import questions.csv --from csv --bank questions.jsonl -o new-questions.jsonl
    """
    if passages_output is not None and form != "squad2":  # The other formats have no passages.
        raise click.UsageError("--also passages needs --from squad2.")
    if base is not None and form != "csv":
        raise click.UsageError("--bank needs --from csv.")
    if title_queries and form in ("tqa", "squad2"):
        raise click.UsageError("--title-queries cannot be combined with --from tqa or squad2.")
    if form in ("tqa", "squad2"):
        from exam_pp.phases.interchange.import_bank import import_bank

        log_summary(import_bank(form, files, output, passages_output).lines())
        return
    from exam_pp.phases.interchange.import_bank import import_texts

    log_summary(import_texts(form, files, output, base, title_queries=title_queries).lines())


for member in (*EDITING, importance, clinic_command):
    command.add_command(member)
