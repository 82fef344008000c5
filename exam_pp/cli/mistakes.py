"""Answers to mistakes in a command line: the right command, option or value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from exam_pp.cli.command_line import parameter_name
from exam_pp.text.wording import closest, did_you_mean, listed

INSTEAD = {
    **dict.fromkeys(("leaderboard", "leaderboards", "score", "scores"), "evaluate cover"),
    "correct": "review",
    "export": "convert",
    "version": "--version",
}
"""Words that people type for a command, and the command."""
_MEANT = {
    **dict.fromkeys(("judge", "llm"), "--model"),
    **dict.fromkeys(("questions", "nuggets", "rubric"), "--bank"),
    **dict.fromkeys(("threshold", "min-rating"), "--min-grade"),
    **dict.fromkeys(("depth", "k"), "--cutoff"),
    **dict.fromkeys(("collection", "corpus", "documents"), "--texts"),
    "metric": "--measure",
    "model": "--grader",
    "topics": "--queries",
}
"""Names that people give to options, and the option that commands have in their place."""
_ALIKE = 0.75
"""Similarity from which a name counts as a misspelling."""


def unknown_command(ctx: click.Context, group: click.Group, name: str) -> str:
    """The message for a name that is not a command of the group."""
    names = group.list_commands(ctx)
    unknown = f"No such command {name!r}."
    if name in INSTEAD:
        return f"{unknown} Use `exam-pp {INSTEAD[name]}`."
    if Path(name).exists():
        commands = ", ".join(names) if ctx.parent else f"`{ctx.command_path} --help` lists them"
        return f"{name} is a file; `{ctx.command_path}` needs a command before it: {commands}."
    elsewhere = [path for path in _commands(ctx.find_root()) if path.split()[-1] == name]
    if elsewhere:
        return f"{unknown} Use {_quoted(elsewhere)}."
    return f"{unknown} {did_you_mean(name, names)}".rstrip()


def explained(error: click.UsageError, ctx: click.Context, named: Mapping[str, Any]) -> click.UsageError:
    """The error with a message that helps. ``named`` has the values that the user gave to parameters."""
    match error:
        case click.NoSuchOption():
            return click.UsageError(_unknown_option(error, ctx), ctx)
        case click.BadOptionUsage():
            return _without_value(error, ctx)
        case click.MissingParameter(param=click.Option(help=str(text)) as option):
            purpose = text.partition(".")[0].partition("  [")[0]
            return click.UsageError(f"Missing option {' / '.join(option.opts)}: {purpose}.", ctx)
        case click.BadParameter(param=click.Parameter(type=click.Choice()) as parameter):
            value = named.get(parameter.name or "")
            return click.UsageError(_unknown_value(str(value), parameter, ctx), ctx) if value else error
    return error


def too_many(ctx: click.Context, extra: Sequence[str]) -> str:
    """The message for words that are neither an option nor an argument of the command."""
    arguments = [parameter_name(each) for each in ctx.command.params if isinstance(each, click.Argument)]
    files = [
        parameter_name(each)
        for each in ctx.command.params
        if isinstance(each, click.Option) and getattr(each.type, "is_input", False)
    ]
    takes = f"takes {' and '.join(arguments) or 'no files'} without an option, but no {listed(extra)}"
    options = f" Name files with their options: {', '.join(files)}." if files else ""
    return f"`{ctx.command_path}` {takes}.{options}"


def _unknown_option(error: click.NoSuchOption, ctx: click.Context) -> str:
    name = error.option_name
    unknown = f"No such option {name!r}."
    for parameter in ctx.command.params:
        if isinstance(parameter, click.Argument) and name.strip("-").upper() in parameter_name(parameter):
            return f"{unknown} {parameter_name(parameter)} is named without an option."
    own = [option for parameter in ctx.command.params for option in parameter.opts]
    meant = _MEANT.get(name.lstrip("-"))
    if meant in own:
        return f"{unknown} Use {meant}."
    close = closest(name, own, _ALIKE)
    if close and name.startswith("--"):
        return f"{unknown} Did you mean {close}?"
    having = [
        path
        for path, command in _commands(ctx.find_root()).items()
        if any(name in parameter.opts for parameter in command.params)
    ]
    group = ctx.command_path.rpartition(" ")[0]
    having = [path for path in having if ctx.parent and path.startswith(f"{group} ")] or having
    return f"{unknown} It is an option of {_quoted(having)}." if having else unknown


def _without_value(error: click.BadOptionUsage, ctx: click.Context) -> click.UsageError:
    for parameter in ctx.command.params:
        if error.option_name in parameter.opts and isinstance(parameter.type, click.Choice):
            values = ", ".join(map(str, parameter.type.choices))
            return click.UsageError(f"{error.option_name} needs a value: one of {values}.", ctx)
    return error


def _unknown_value(value: str, parameter: click.Parameter, ctx: click.Context) -> str:
    assert isinstance(parameter.type, click.Choice)
    choices = [str(choice) for choice in parameter.type.choices]
    values = ", ".join(choices)
    if isinstance(parameter, click.Argument):
        if Path(value).exists():
            return f"`{ctx.command_path}` needs a word before {value}: one of {values}."
        if ctx.command.name == "show":
            from exam_pp.prompts import PROMPTS

            if value in PROMPTS:
                return f"{value} is a prompt: use `{ctx.command_path} prompt {value}`."
    hint = did_you_mean(value.lower(), choices, f"Choose one of {values}.")
    where = f"`{ctx.command_path}`" if isinstance(parameter, click.Argument) else parameter_name(parameter)
    return f"{where} cannot be followed by {value!r}. {hint}"


def _commands(root: click.Context) -> dict[str, click.Command]:
    """All commands, such as ``exam-pp evaluate cover``; imports them."""

    def below(path: str, command: click.Command | None) -> Iterator[tuple[str, click.Command]]:
        if isinstance(command, click.Group):
            for name in command.list_commands(root):
                yield from below(f"{path} {name}", command.get_command(root, name))
        elif command is not None:
            yield path, command

    return dict(below(root.command_path, root.command))


def _quoted(paths: Sequence[str]) -> str:
    return listed([f"`{path}`" for path in paths])
