"""``exam-pp schema``: JSON Schemas of the file formats."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import emit, output_option


@click.command("schema", cls=Command)
@click.argument("name", required=False)
@output_option("File to write.  [default: standard output]")
def command(name: str | None, output: Path) -> None:
    """Print the JSON Schema of a file format.

    NAME is the name of the format; without it, the command lists the formats that have a schema. For JSON
    lines the schema describes one line, for other files the whole document.

    Examples:

    \b
      exam-pp schema
      exam-pp schema bank -o bank.schema.json
    """
    from exam_pp.phases.interchange.schemas import schema_text, schemas

    if name is None:
        known = schemas()
        width = max(map(len, known.names()))
        listing = (f"{key:<{width}}  {known.get(key).about}\n" for key in known)
        emit("".join(listing), output)
    else:
        emit(schema_text(name), output)
