"""Groups of commands: definition order, full one-line help and suggestions for mistyped names."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib import import_module

import click


class Group(click.Group):
    """A group that lists its commands in definition order and suggests a name for a mistyped command."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands in definition order."""
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command; fails with the closest name for an unknown command."""
        names = self.list_commands(ctx)
        close = get_close_matches(args[0], names, n=1)
        if args[0] not in names and close and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {close[0]!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands in ``--help`` with full sentences, which click would truncate."""
        rows = [(name, self.commands[name].get_short_help_str(limit=500)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def group_of_files(name: str, purpose: str, room: str, commands: Iterable[str]) -> Group:
    """A group of the commands in the files ``exam_pp/cli/ROOM/COMMAND.py``; each file defines ``command``."""
    group = Group(name, help=purpose)
    for command in commands:
        group.add_command(import_module(f"exam_pp.cli.{room}.{command}").command)
    return group
