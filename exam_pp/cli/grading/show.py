"""The command group ``exam-pp show``, which prints a prompt in full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from exam_pp.cli.command import Group
from exam_pp.cli.options import FILE, emit, output_option

if TYPE_CHECKING:
    from exam_pp.prompts import Prompt


@click.group("show", cls=Group)
def command() -> None:
    """Show a prompt in full."""


@command.command("prompt")
@click.argument("name", required=False)
@click.option("--prompt-file", type=FILE, help="TOML file with your own prompt, instead of NAME.")
@click.option(
    "--as-file",
    is_flag=True,
    help="Print the prompt as a prompt file, to be changed and used with --prompt-file.",
)
@output_option("File to write.  [default: standard output]")
def prompt_command(name: str | None, prompt_file: Path | None, as_file: bool, output: Path) -> None:
    """Print the template of a prompt, with its scale, reading rule, source and version.

    NAME is a prompt of `exam-pp list prompts`.

    Examples:

    \b
      exam-pp show prompt QuestionSelfRatedUnanswerablePromptWithChoices
      exam-pp show prompt NuggetCreation --as-file -o my-creation.toml
    """
    from exam_pp.phases.grading.prompt_files import read_prompt
    from exam_pp.prompts import PROMPTS
    from exam_pp.prompts.custom import prompt_as_file

    if (name is None) == (prompt_file is None):
        raise click.UsageError("show prompt needs either NAME or --prompt-file.")
    prompt = PROMPTS.get(name) if name is not None else read_prompt(prompt_file or Path())
    emit(prompt_as_file(prompt) if as_file else _page(prompt, PROMPTS.aliases(prompt.name)), output)


def _page(prompt: Prompt, aliases: tuple[str, ...]) -> str:
    """The facts about a prompt, a blank line, and its template."""
    facts = {
        "prompt": prompt.name,
        "also called": ", ".join(aliases),
        "kind": prompt.kind,
        "scale": prompt.scale,
        "reading": prompt.reading,
        "source": prompt.cite,
        "version": f"{prompt.version} ({prompt.hash})",
    }
    lines = [f"{key + ':':<13}{value}" for key, value in facts.items() if value]
    return "\n".join([*lines, "", prompt.text, ""])
