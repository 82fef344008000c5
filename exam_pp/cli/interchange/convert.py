"""``exam-pp convert``: files from one format into another."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.options import (
    FILE,
    FILES,
    METHOD_NAME,
    OUTPUT_PATH,
    QUERIES_FILE,
    emit,
    format_option,
)

log = logging.getLogger(__name__)


@click.command("convert")
@click.argument("source", required=False, type=FILES)
@click.option("-o", "--output", type=OUTPUT_PATH, help="The file to write; for several runs a folder.")
@click.option(
    "--from", "source_format", metavar="FORMAT", help="Format of SOURCE.  [default: told by the content]"
)
@click.option("--to", "target_format", metavar="FORMAT", help="Format to write.")
@click.option(
    "--dropped-fields",
    "dropped_fields_output",
    type=OUTPUT_PATH,
    help="Also write here, as JSON, what could not be carried.",
)
@click.option(
    "--unit",
    type=click.Choice(["paragraph", "sentence", "whole"]),
    default="sentence",
    show_default=True,
    help="What of an answer becomes a passage.",
)
@click.option("--measure", help="Of several measures, the one that official ranks are made of.")
@METHOD_NAME
@click.option(
    "--contexts", type=FILE, help="For squad2 and open-rag-eval: a passages file with the texts of passages."
)
@click.option(
    "--queries", type=QUERIES_FILE, help="For open-rag-eval: texts of queries, where answers lack them."
)
@click.option("--list", "list_", is_flag=True, help="List the formats, and what can become what.")
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
    """Convert SOURCE into another format.

    What the other format has no place for is counted on standard error: a conversion loses nothing
    silently. `--list` shows the formats (`--format` is the format of that list).
    """
    from exam_pp.phases.interchange.convert import Conversion, convert

    if list_:
        from exam_pp.rendering.render import render
        from exam_pp.reports.interchange.formats import conversion_report

        emit(render(conversion_report(), form), Path("-"))
        return
    if source is None or output is None or target_format is None:
        raise click.UsageError("Name a SOURCE, -o FILE and --to FORMAT (see --list).")
    dropped = convert(Conversion(source, output, target_format, **options), dropped_fields_output)
    for line in dropped.lines():
        log.warning("%s", line)
    if not dropped:
        log.info("Nothing was left out.")
