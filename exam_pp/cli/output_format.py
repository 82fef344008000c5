"""Format of an output: that of ``--format``, or else that of the ending of its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command_line import is_given

_FORMATS = {
    **{name: name for name in ("tsv", "json", "jsonl", "csv", "md", "html", "toml", "parquet")},
    "htm": "html",
    "markdown": "md",
    "tex": "latex",
}
"""Ending of a file to the format that it names."""
_OTHER_PROGRAMS = ("docx", "ods", "odt", "pdf", "png", "svg", "xls", "xlsx")
"""Endings of files that no command writes in these formats."""


def ending_of(path: Path) -> str | None:
    """The ending of a file that names a format, without its dot; None for other endings."""
    name = path.name.lower().removesuffix(".gz")
    ending = name.rpartition(".")[2]
    return ending if "." in name and (ending in _FORMATS or ending in _OTHER_PROGRAMS) else None


def of_ending(context: click.Context, option: click.Parameter, form: Any) -> Any:
    """Callback of ``--format``: without the option, the format that the ending of ``-o`` names.

    click calls it after ``-o`` was read, because it reads parameters that the user named first. Raises
    :class:`click.UsageError` for a format that the command cannot write.
    """
    path, command = context.params.get("output"), context.command
    uses: Any = getattr(command, "uses", None)
    ending = ending_of(path) if isinstance(path, Path) else None
    if ending is None or is_given(context, "form"):
        return form
    if uses is not None and not uses(option, context.params.get(getattr(command, "chosen_by", ""))):
        return form  # this kind of work writes something else
    named, choices = _FORMATS.get(ending, ending), getattr(option.type, "choices", ())
    if named not in choices:
        raise click.UsageError(
            f"`{context.command_path}` cannot write {path} as {ending}: choose another ending, or --format "
            f"with one of {', '.join(choices)}.",
            context,
        )
    return named
