"""``exam-pp rename``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.options import PASSAGES, log_summary, output_option

_NAMES = "OLD=NEW"


@click.command("rename")
@PASSAGES
@output_option()
@click.option("--model", "models", multiple=True, metavar=_NAMES, help="A model (or person) that graded.")
@click.option("--prompt-class", "prompt_classes", multiple=True, metavar=_NAMES, help="A prompt class.")
@click.option("--system", "systems", multiple=True, metavar=_NAMES, help="A system in the rankings.")
def command(
    passages: Path,
    output: Path,
    models: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    systems: tuple[str, ...],
) -> None:
    """Give models, prompt classes and systems of PASSAGES other names; options may be repeated.

    Names may be swapped, but two sets of grades, or two systems, never become one.
    """
    from exam_pp.phases.passages.rename import Renaming, rename_file

    renaming = Renaming(_names(models), _names(prompt_classes), _names(systems))
    if renaming == Renaming():
        raise click.UsageError("Say what to rename: --model, --prompt-class or --system OLD=NEW.")
    rename_file(passages, output, renaming)
    if str(output) != "-":
        log_summary([f"Written: {output}"])


def _names(pairs: tuple[str, ...]) -> dict[str, str]:
    names: dict[str, str] = {}
    for pair in pairs:
        old, _, new = pair.partition("=")
        if not (old and new):
            raise click.UsageError(f"{pair!r} is not of the form OLD=NEW.")
        if old in names:
            raise click.UsageError(f"{old!r} has two new names.")
        names[old] = new
    return names
