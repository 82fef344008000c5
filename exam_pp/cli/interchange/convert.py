"""``exam-pp convert``: conversion of files between formats."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import (
    BOM,
    FILE,
    FILES,
    METHOD_NAME,
    OUTPUT_PATH,
    QUERIES_FILE,
    emit_rendered,
    format_option,
)

log = logging.getLogger(__name__)


@click.command("convert")
@click.argument("source", required=False, type=FILES)
@click.option("-o", "--output", type=OUTPUT_PATH, help="File to write; a folder for several runs.")
@click.option(
    "--from",
    "source_format",
    metavar="FORMAT",
    help="Format of SOURCE.  [default: detected from the content]",
)
@click.option("--to", "target_format", metavar="FORMAT", help="Format to write.")
@click.option(
    "--dropped-fields",
    "dropped_fields_output",
    type=OUTPUT_PATH,
    help="JSON file to write the counts of dropped fields to.",
)
@click.option(
    "--unit",
    type=click.Choice(["paragraph", "sentence", "whole"]),
    default="sentence",
    show_default=True,
    help="The part of an answer that becomes a passage.",
)
@click.option("--measure", help="Measure for official ranks, if SOURCE has several.")
@METHOD_NAME
@click.option(
    "--contexts", type=FILE, help="For --to squad2 and open-rag-eval: a passages file with the passage texts."
)
@click.option(
    "--queries", type=QUERIES_FILE, help="For --to open-rag-eval: query texts, if the answers lack them."
)
@BOM
@click.option("--list", "list_", is_flag=True, help="List the formats and the possible conversions.")
@format_option()
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

    The format of SOURCE is detected from its content; a pipe needs `--from`. A warning counts the dropped
    fields, which the target format cannot hold. `--list` shows all formats; `--format` is the format of that
    list.

    Example:

    \b
      exam-pp convert nuggets.jsonl -o nuggets.csv --to bank-csv
      exam-pp convert passages.jsonl.gz -o judgments.qrels --to qrels \\
          --dropped-fields dropped.json
    """
    from exam_pp.phases.interchange.convert import Conversion, convert

    if list_:
        from exam_pp.reports.interchange.formats import conversion_report

        emit_rendered(conversion_report(), form, Path("-"))
        return
    if source is None or output is None or target_format is None:
        raise click.UsageError("convert needs SOURCE, -o FILE and --to FORMAT; --list shows the formats.")
    dropped = convert(Conversion(source, output, target_format, **options), dropped_fields_output)
    for line in dropped.lines():
        log.warning("%s", line)
    if not dropped:
        log.info("No fields were dropped.")
