"""Options with keys such as ``-S samples=100``: one name for many settings, each of its type and default.

A command declares every key as an option named by both, ``click.option("-S samples", "samples", type=int)``.
Before click parses the arguments, ``-S samples=100`` becomes this option, so that defaults, errors,
conditions such as "-S confidence needs --intervals", inputs and outputs work as for other options.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import click
from click.shell_completion import CompletionItem

from exam_pp.text.wording import did_you_mean, listed


def keys_of(parameters: Sequence[click.Parameter]) -> dict[str, dict[str, click.Parameter]]:
    """Option such as ``-S`` to its keys with their parameters."""
    found: dict[str, dict[str, click.Parameter]] = {}
    for parameter in parameters:
        for name in parameter.opts:
            option, blank, key = name.partition(" ")
            if blank:
                found.setdefault(option, {})[key] = parameter
    return found


def keys_as_options(
    arguments: Sequence[str], parameters: Sequence[click.Parameter], context: click.Context
) -> list[str]:
    """The arguments with ``-S KEY=VALUE`` replaced by the option of the key.

    Raises :class:`click.UsageError` for an unknown key, except after an option that also has plain values.
    """
    keyed = keys_of(parameters)
    plain = {name for parameter in parameters for name in parameter.opts}
    replaced: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            return [*replaced, word, *words]
        option, value = next(_split(word, keyed), (None, None))
        if option is None:
            replaced.append(word)
            continue
        if value is None:
            value = next(words, None)
        key, is_pair, rest = (value or "").partition("=")
        if is_pair and key in keyed[option]:
            replaced.append(f"{option} {key}={rest}")
        elif option in plain:
            replaced += [option] if value is None else [option, value]
        else:
            raise click.UsageError(_unknown(option, value, list(keyed[option])), context)
    return replaced


def _split(word: str, options: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """The option of a word and the value that the word also has: ``-S``, ``-Skey=1``, ``--also=key=file``."""
    for option in options:
        if word == option:
            yield option, None
        elif word.startswith(f"{option}=") or (not option.startswith("--") and word.startswith(option)):
            yield option, word[len(option) :].removeprefix("=")


def _unknown(option: str, value: str | None, keys: list[str]) -> str:
    if value is None:
        return f"Option '{option}' requires KEY=VALUE, with a KEY of {listed(keys)}."
    key, is_pair, _ = value.partition("=")
    if not is_pair:
        return f"{option} {value}: is not KEY=VALUE. Its keys here: {listed(keys)}."
    return f"{option} has no key {key!r} here. {did_you_mean(key, keys, f'Its keys here: {listed(keys)}.')}"


class KeyedOption(click.Option):
    """The line of an option with keys in ``--help``, and their completion; it is never parsed."""

    def __init__(self, option: str, keys: dict[str, click.Parameter], meaning: str) -> None:
        values = {parameter.metavar or "VALUE" for parameter in keys.values()}
        super().__init__(
            [option],
            metavar=f"KEY={values.pop() if len(values) == 1 else 'VALUE'}",
            expose_value=False,
            multiple=True,
            help=f"{meaning}: {listed(list(keys))}.",
        )
        self._keys = keys

    @property
    def only_key(self) -> click.Parameter | None:
        """The parameter of its key, if it has only one."""
        return next(iter(self._keys.values())) if len(self._keys) == 1 else None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The keys that begin with ``incomplete``, with their meaning."""
        return [
            CompletionItem(f"{key}=", help=getattr(parameter, "help", None))
            for key, parameter in self._keys.items()
            if key.startswith(incomplete)
        ]
