"""``exam-pp convert``: conversion of files between formats."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import (
    BOM,
    FILE,
    FILES,
    METHOD_NAME,
    OUTPUT_PATH,
    QUERIES_FILE,
    QUERY_FORMATS,
    UNIT_HELP,
    UNITS,
    OutputPath,
    emit_rendered,
    format_option,
)

log = logging.getLogger(__name__)


@click.command("convert", cls=Command)
@click.argument("source", required=False, type=FILES)
@click.option(
    "-o",
    "--output",
    type=OutputPath(folders=True),
    metavar="PATH",
    help="File to write, or folder for several runs.",
)
@click.option(
    "--from",
    "source_format",
    metavar="FORMAT",
    help="Format of SOURCE; required for standard input.  [default: detected from the content]",
)
@click.option("--to", "target_format", metavar="FORMAT", help="Format to write.")
@click.option(
    "--also dropped-fields",
    "dropped_fields_output",
    type=OUTPUT_PATH,
    help="Also write the counts of dropped fields to this JSON file.",
)
@click.option(
    "--unit",
    type=click.Choice(UNITS),
    default="sentence",
    show_default=True,
    help=UNIT_HELP,
)
@click.option(
    "--measure",
    metavar="NAME",
    help="Measure that determines official ranks, if SOURCE has several measures.",
)
@METHOD_NAME
@click.option(
    "--passages",
    "contexts",
    type=FILE,
    help="With --to squad2 or open-rag-eval: passages file with the passage texts.",
)
@click.option(
    "--queries",
    type=QUERIES_FILE,
    help=f"With --to open-rag-eval: texts of the queries, if the answers lack them ({QUERY_FORMATS}).",
)
@BOM
@click.option(
    "--list", "list_", is_flag=True, help="List all formats and the possible conversions, and exit."
)
@format_option(help_text="Format of --list.")
def command(
    source: Path | None,
    output: Path | None,
    target_format: str | None,
    dropped_fields_output: Path | None,
    list_: bool,
    form: str,
    **options: Any,
) -> None:
    """Convert a file to another format.

    SOURCE, -o and --to are required, except with --list. The format of SOURCE is detected from its content.
    A warning counts the dropped fields, which the target
    format cannot hold. --list shows the names of all formats.

    Examples:

    \b
      exam-pp convert nuggets.jsonl --to bank-csv -o nuggets.csv
      exam-pp convert passages.jsonl.gz --to qrels -o judgments.qrels --also dropped-fields=dropped.json
    """
    from exam_pp.phases.interchange.convert import Conversion, convert

    if list_:
        from exam_pp.reports.interchange.formats import conversion_report

        emit_rendered(conversion_report(), form, Path("-"))
        return
    if source is None or output is None or target_format is None:
        raise click.UsageError("convert needs SOURCE, -o PATH and --to FORMAT; --list shows the formats.")
    dropped = convert(Conversion(source, output, target_format, **options), dropped_fields_output)
    for line in dropped.lines():
        log.warning("%s", line)
    if not dropped:
        log.info("No fields were dropped.")
