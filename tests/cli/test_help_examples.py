"""Every command's ``--help`` has an example: an indented line ``exam-pp ...``; a backslash continues it."""

from __future__ import annotations

import re

import pytest

from exam_pp.cli.main import cli
from scripts.command_tree import commands, kinds_of

COMMANDS = commands(cli)
HELP = {path: command.help or "" for path, command in COMMANDS.items()} | {
    f"{path} {name}": kind.help
    for path, command in COMMANDS.items()
    for name, kind in kinds_of(command).items()
}
"""Command, or command and kind of work, to its help text."""


def examples(text: str) -> list[str]:
    """The example commands of a help text."""
    return re.findall(r"^ *(exam-pp .*)$", text.replace("\\\n", " "), flags=re.MULTILINE)


EXAMPLES = {line: path for path, text in HELP.items() for line in examples(text)}


@pytest.mark.parametrize("path", HELP)
def test_a_command_has_an_example(path: str) -> None:
    assert examples(HELP[path])
