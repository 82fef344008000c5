"""Command line of the running command, for provenance, and refusal of options that need another option."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import click
from click.core import ParameterSource

SECRET = re.compile(r"(^|_)(key|token|secret|password)s?$")
"""Names of parameters whose values are masked."""


def command_line(context: click.Context, *, without: Collection[str] = ()) -> str:
    """Return the command with the arguments and options that the user gave, as a shell would read it.

    Equal calls give equal lines. Values of keys, tokens and passwords are masked.
    """
    return shlex.join([*context.command_path.split(), *given_words(context, without=without)])


def given_words(context: click.Context, *, without: Collection[str] = ()) -> list[str]:
    """The arguments and options of :func:`command_line`."""
    return [
        word
        for parameter in context.command.params
        if is_given(context, name := parameter.name or "") and name not in without
        for word in _words(parameter, context.params.get(name))
    ]


OLD_OPTIONS = {"--prompt-class": "--prompt"}
"""Former names of options, which commands still accept."""


def with_present_names(arguments: Sequence[str]) -> list[str]:
    """The arguments with the present names of options in place of former ones."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [*map(_present_name, arguments[:end]), *arguments[end:]]


def _present_name(word: str) -> str:
    option, sign, value = word.partition("=")
    return f"{OLD_OPTIONS.get(option, option)}{sign}{value}"


def is_given(context: click.Context, name: str) -> bool:
    """Whether the user named this parameter; False if it has its default value."""
    return context.get_parameter_source(name) not in (None, ParameterSource.DEFAULT)


def parameter_name(parameter: click.Parameter) -> str:
    """``--bank``, or ``PASSAGES`` for an argument."""
    is_option = isinstance(parameter, click.Option)
    return max(parameter.opts, key=len) if is_option else parameter.human_readable_name


def refuse(context: click.Context, is_wrong: Callable[[str], bool], why: str) -> None:
    """Refuse parameters that the user named, by their Python names; ``why`` ends the sentence."""
    for parameter in context.command.params:
        if is_given(context, parameter.name or "") and is_wrong(parameter.name or ""):
            raise click.UsageError(f"{parameter_name(parameter)} {why}.", context)


def refuse_without(needed: str, *names: str) -> None:
    """Refuse parameters of the running command that would have no effect.

    ``needed``: The option that they need, which the user did not name.
    """
    refuse(click.get_current_context(), names.__contains__, f"needs {needed}")


def _words(parameter: click.Parameter, value: Any) -> Iterator[str]:
    values = value if isinstance(value, tuple | list) else [value]
    if not isinstance(parameter, click.Option):
        yield from map(str, values)
        return
    name = parameter_name(parameter)
    if parameter.is_flag:
        yield name if value or not parameter.secondary_opts else parameter.secondary_opts[0]
        return
    option, is_keyed, key = name.partition(" ")
    for item in values:
        parts = item if isinstance(item, tuple) else (item,)  # such as a format and a file
        shown = [
            "***" if SECRET.search(parameter.name or "") else _without_key(name, str(part)) for part in parts
        ]
        yield from (option, f"{key}={shown[0]}") if is_keyed else (option, *shown)


def _without_key(option: str, value: str) -> str:
    """The value of an option, without the parameters of a URL, which may be keys."""
    if not option.endswith("base-url"):
        return value
    from exam_pp.llm.transport import address

    return address(value)
