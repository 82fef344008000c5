"""``exam-pp bank import``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import COLUMNS, FILE, OUTPUT_PATH, REPAIR, log_summary, required_output


@click.command("import", cls=Command)
@click.argument("files", nargs=-1, required=True, type=FILE)
@click.option(
    "--from",
    "form",
    type=click.Choice(["tqa", "squad2", "csv", "genq", "nuggetizer", "autojudge", "bank"]),
    help="Textbook Question Answering (tqa), SQuAD2 JSON (squad2), table of questions or nuggets "
    "such as a spreadsheet (csv), first published format of question banks (genq), nuggets of AutoNuggetizer "
    "(nuggetizer), nugget bank of AutoJudge (autojudge), or test bank (bank).  [default: detected from the "
    "content]",
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
    "--queries",
    type=FILE,
    help="With --from csv: queries whose ids replace their texts in the column of queries.",
)
@click.option(
    "--facets",
    type=click.Choice(["title", "facet"]),
    default="facet",
    show_default=True,
    help="Keep queries with ids `query/facet` as they are (facet), or make them facets of the title query "
    "`query`, as TREC CAR needs it (title).",
)
@COLUMNS
@REPAIR
def command(
    files: tuple[Path, ...],
    form: Any,
    output: Path,
    passages_output: Path | None,
    base: Path | None,
    queries: Path | None,
    facets: str,
    columns: dict[str, str] | None,
    *,
    repair: bool,
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
    from exam_pp.phases.banks.import_bank import bank_format, import_bank
    from exam_pp.store.problems import repairing
    from exam_pp.store.tables import columns_named

    with columns_named(columns), repairing(enabled=repair) as repairs:
        form = form or bank_format(files)
        if passages_output is not None and form != "squad2":  # The other formats have no passages.
            raise click.UsageError("--also passages needs --from squad2.")
        for option, value in (("--bank", base), ("--queries", queries)):
            if value is not None and form != "csv":
                raise click.UsageError(f"{option} needs --from csv.")
        if facets == "title" and form in ("tqa", "squad2"):
            raise click.UsageError("--facets title cannot be combined with --from tqa or squad2.")
        imported = import_bank(
            files, output, form,
            passages=passages_output, base=base, queries=queries, title_queries=facets == "title",
        )  # fmt: skip
        log_summary(imported.lines())
    log_summary(repairs.lines())
