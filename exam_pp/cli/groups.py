"""Groups of commands as people read them: in the order of use, and each with its whole sentence."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module

import click


class Group(click.Group):
    """Lists its commands in the order of their definition, and asks "did you mean ...?" for slips."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands in the order of their definition."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command, or an error that names the one that was meant."""
        names = self.list_commands(ctx)
        close = get_close_matches(args[0], names, n=1)
        if args[0] not in names and close and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {close[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list in ``--help``, where click would cut sentences to the width of a line."""
        rows = [(name, self.commands[name].get_short_help_str(limit=500)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def group_of_files(name: str, words: str, room: str, commands: Iterable[str]) -> Group:
    """A group of the click commands called ``command`` in the files ``COMMAND.py`` of a room."""
    group = Group(name, help=words)
    for command in commands:
        group.add_command(import_module(f"exam_pp.cli.{room}.{command}").command)
    return group
