"""``exam-pp rename``."""

from __future__ import annotations

from pathlib import Path

import click

from exam_pp.cli.command import Command
from exam_pp.cli.options import PASSAGES, log_summary, output_option

_NAMES = "OLD=NEW"


@click.command("rename", cls=Command)
@PASSAGES
@output_option("File to write.  [default: standard output]")
@click.option(
    "--grader",
    "models",
    multiple=True,
    metavar=_NAMES,
    help="Rename a model or reviewer in the grades; may be repeated.",
)
@click.option(
    "--prompt-class",
    "prompt_classes",
    multiple=True,
    metavar=_NAMES,
    help="Rename a prompt class in the grades; may be repeated.",
)
@click.option(
    "--system",
    "systems",
    multiple=True,
    metavar=_NAMES,
    help="Rename a system in the rankings; may be repeated.",
)
def command(
    passages: Path,
    output: Path,
    models: tuple[str, ...],
    prompt_classes: tuple[str, ...],
    systems: tuple[str, ...],
) -> None:
    """Rename models, prompt classes and systems in a passages file or games file.

    Two names can be swapped. It is an error if two graders or two systems would get the same name.

    Example:

    \b
      exam-pp rename graded.jsonl.gz --grader google/flan-t5-large=flan-t5 --system bm25=BM25 \\
        -o renamed.jsonl.gz
    """
    from exam_pp.phases.passages.games import rename_games
    from exam_pp.phases.passages.rename import Renaming, rename_file
    from exam_pp.store.games import is_games_file

    renaming = Renaming(_names(models), _names(prompt_classes), _names(systems))
    if renaming == Renaming():
        raise click.UsageError("rename needs --grader, --prompt-class or --system with OLD=NEW.")
    (rename_games if is_games_file(passages) else rename_file)(passages, output, renaming)
    if str(output) != "-":
        log_summary([f"Written: {output}"])


def _names(pairs: tuple[str, ...]) -> dict[str, str]:
    names: dict[str, str] = {}
    for pair in pairs:
        old, _, new = pair.partition("=")
        if not (old and new):
            raise click.UsageError(f"{pair!r} must have the form OLD=NEW.")
        if old in names:
            raise click.UsageError(f"{old!r} has two new names, {names[old]!r} and {new!r}.")
        names[old] = new
    return names
