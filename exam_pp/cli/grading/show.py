"""``exam-pp show``: one thing in full."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from exam_pp.cli.groups import Group
from exam_pp.cli.options import FILE, emit, output_option

if TYPE_CHECKING:
    from exam_pp.prompts import Prompt


@click.group("show", cls=Group)
def command() -> None:
    """Show a prompt in full."""


@command.command("prompt")
@click.argument("name", required=False)
@click.option("--prompt-file", type=FILE, help="TOML file with a prompt of your own.")
@output_option()
def prompt_command(name: str | None, prompt_file: Path | None, output: Path) -> None:
    """Print the words of the prompt NAME, its scale, how replies are read, and where it is from."""
    from exam_pp.phases.grading.prompt_files import read_prompt
    from exam_pp.prompts import PROMPTS

    if (name is None) == (prompt_file is None):
        raise click.UsageError("Name one prompt, or a --prompt-file.")
    prompt = PROMPTS.get(name) if name is not None else read_prompt(prompt_file or Path())
    emit(_page(prompt, PROMPTS.aliases(prompt.name)), output)


def _page(prompt: Prompt, aliases: tuple[str, ...]) -> str:
    """A prompt for people: facts, a blank line, the words."""
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
