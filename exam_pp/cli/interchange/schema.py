"""``exam-pp schema``: file formats as JSON Schema."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.options import emit, output_option


@click.command("schema")
@click.argument("name", required=False)
@output_option()
def command(name: str | None, output: Path) -> None:
    """Print the JSON Schema of a format; without NAME, list the formats.

    Of JSON lines the schema describes one line, of other files the whole document.
    """
    from exam_pp.phases.interchange.schemas import SCHEMAS, schema_text

    if name is None:
        width = max(map(len, SCHEMAS.names()))
        listing = (f"{known:<{width}}  {SCHEMAS.get(known).words}\n" for known in SCHEMAS)
        emit("".join(listing), output)
    else:
        emit(schema_text(name), output)
