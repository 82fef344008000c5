"""``exam-pp bank export``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import BOM, FILE, log_summary, required_output


@click.command("export", cls=Command)
@click.argument("bank", type=FILE)
@click.option(
    "--to",
    "form",
    type=click.Choice(["csv", "nuggetizer", "autojudge"]),
    required=True,
    help="Spreadsheet (csv), nuggets of AutoNuggetizer (nuggetizer), or nugget bank v3 of AutoJudge "
    "(autojudge).",
)
@BOM
@required_output("File to write.")
def command(bank: Path, form: Any, output: Path, *, bom: bool) -> None:
    """Write BANK as a spreadsheet or in the format of another tool.

    A message counts the dropped fields, which the format cannot hold.

    Example:

    \b
      exam-pp bank export questions.jsonl --to csv -o questions.csv
    """
    from exam_pp.phases.interchange.export_bank import export_bank

    log_summary(export_bank(bank, form, output, bom=bom))
