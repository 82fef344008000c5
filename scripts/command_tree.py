"""All commands of exam_pp with their paths, for generated pages and for tests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import click

from exam_pp.cli.command import Command, Kind
from exam_pp.cli.main import cli
from exam_pp.formats.base import FORMATS


def command_tree(command: click.Command, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Every command and group with its path such as ``evaluate cover``, groups before their members."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            member = command.get_command(context, name)
            assert member is not None, f"{path} lists the command {name}, but does not have it"
            yield from command_tree(member, f"{path} {name}".strip())


def commands(root: click.Command) -> dict[str, click.Command]:
    """Path to command, without groups."""
    return {path: command for path, command in command_tree(root) if not isinstance(command, click.Group)}


_OF_PLUGINS = {
    "evaluate elo": re.compile("(analyze|filter|merge) .*games|apply .*(decisions|game-edits)"),
    "evaluate answers": re.compile(
        "grade .*(citation-?support|factual-?consistency|criteria)|verify citations|analyze .*--by criterion"
        "|apply .*ratings.csv",
        re.IGNORECASE,
    ),
    "sample-pairs": re.compile("grade .*--again|(review|validate) .*pairs"),
}
"""Command of a plug-in to command lines of the core that ask the plug-in because of their inputs."""


def is_here(line: str) -> bool:
    """Whether the command of a command line and its formats exist; those of a plug-in may be deleted."""
    if any(of.match(line) and not is_here(own) for own, of in _OF_PLUGINS.items()):
        return False
    if not all(map(_is_format, re.findall(r"--(?:from|to) (\S+)", line))):
        return False
    member: click.Command | None = cli
    for word in line.split():
        if not isinstance(member, click.Group):
            break
        member = member.get_command(click.Context(member), word)
    return member is not None


def _is_format(name: str) -> bool:
    """Whether a file format exists; ``bank import`` has short names of some."""
    return any(each in FORMATS for each in (name, f"{name}-bank", f"bank-{name}"))


def kinds_of(command: click.Command) -> Mapping[str, Kind]:
    """The kinds of work of a command by name; empty for most commands."""
    return command.kinds if isinstance(command, Command) else {}
