"""Listings of commands, options, prompts and formats, which are made from the code when the site is built.

A page of docs/ has a line such as ``<!-- listing: options -->`` where the site has the listing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import click

from exam_pp.cli.command import KIND, WITH_ALL_OPTIONS
from exam_pp.cli.grading.list import conversion_rows
from exam_pp.cli.main import cli
from exam_pp.cli.option_sections import OPTIONS, REPEATABLE_ONLY_IN
from exam_pp.phases.interchange.schemas import schemas
from exam_pp.phases.validation.checks import CHECKS
from exam_pp.plugins.sql.tables import TABLES
from exam_pp.prompts import PROMPTS, Prompt
from scripts.command_tree import command_tree, commands, kinds_of

_MARKER = re.compile(r"^<!-- listing: (\w+) -->$", re.MULTILINE)


def with_listings(page: str) -> str:
    """The text of a page with its listings."""
    return _MARKER.sub(lambda match: LISTINGS[match[1]](), page)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _help_text(path: str, command: click.Command, kind: str | None = None) -> str:
    """What ``exam-pp PATH --help-all`` prints, in 100 columns; with the name of a kind, for this kind."""
    context = click.Context(command, info_name=path, max_content_width=100, terminal_width=100)
    context.meta[WITH_ALL_OPTIONS] = kind is not None or not kinds_of(command)
    context.meta[KIND] = kind
    context.help_option_names = ["-h", "--help"]
    return command.get_help(context)


def _commands() -> str:
    sections = []
    for path, command in command_tree(cli):
        name = f"exam-pp {path}".strip()
        for kind in (None, *kinds_of(command)):
            heading = name if kind is None else f"{name} {kind}"
            sections.append(f"## {heading}\n\n```text\n{_help_text(name, command, kind).rstrip()}\n```\n")
    return "\n".join(sections)


def _options() -> str:
    """Every option with its meaning, whether it is repeatable, and its commands."""
    uses: dict[str, list[tuple[str, click.Option]]] = {}
    for path, command in commands(cli).items():
        for parameter in command.get_params(click.Context(command)):
            if isinstance(parameter, click.Option):
                name = max(parameter.opts, key=len)
                uses.setdefault(name, []).append((path, parameter))
    every = max(map(len, uses.values()))

    def row(name: str, meaning: str) -> tuple[str, ...]:
        several = {option.multiple for _, option in uses[name]}
        repeatable = REPEATABLE_ONLY_IN.get(name, "yes" if several == {True} else "")
        paths = [path for path, _ in uses[name]]
        where = "all" if len(paths) == every else ", ".join(f"`{path}`" for path in paths)
        return f"`{name}`", meaning, repeatable, where

    head = ("option", "meaning", "repeatable", "commands")
    return "\n\n".join(
        f"### {section}\n\n{_table(head, [row(*option) for option in options.items()])}"
        for section, options in OPTIONS.items()
    )


def _prompts() -> str:
    prompts = sorted(map(PROMPTS.get, PROMPTS), key=lambda prompt: prompt.shown)
    table = _table(
        ("prompt", "kind", "scale", "source"),
        [(f"[`{p.shown}`](#{p.shown})", p.kind, p.scale, p.cite) for p in prompts],
    )
    return "\n".join([table, "", *map(_prompt, prompts)])


def _prompt(prompt: Prompt) -> str:
    aliases = ", ".join(f"`{alias}`" for alias in PROMPTS.aliases(prompt.name))
    facts = [
        f"* In files: `{prompt.name}`.",
        f"* Kind {prompt.kind}, scale {prompt.scale}, version {prompt.version} (`{prompt.hash}`)",
        f"* Reading rule: {prompt.reading}.",
        f"* Source: {prompt.cite}.",
        *([f"* Aliases: {aliases}."] if aliases else []),
    ]
    fence = "````" if "```" in prompt.text else "```"
    return "\n".join([f"### {prompt.shown}", "", *facts, "", f"{fence}text", prompt.text, fence, ""])


def _tables() -> str:
    return "\n\n".join(
        f"### {table.name}\n\n{table.description}\n\n"
        + _table(("column", "type", ""), [(f"`{c.name}`", c.type, c.description) for c in table.columns])
        for table in TABLES.values()
    )


def _checks() -> str:
    rows = [(f"`{check.name}`", check.level, check.description) for check in CHECKS.values()]
    return _table(("check", "level", "finding"), rows)


def _schemas() -> str:
    known = schemas()
    return _table(("name", "describes"), [(f"`{name}`", known.get(name).about) for name in known])


def _formats() -> str:
    def code(cell: object) -> object:
        return cell if cell in ("yes", "") else f"`{cell}`"

    rows = [
        (content, f"`{name}`", code(read), code(write), description.replace("<TAB>", " TAB "))
        for content, name, read, write, description in conversion_rows()
    ]
    return _table(("content", "format", "in", "out", "description"), rows)


LISTINGS: dict[str, Callable[[], str]] = {
    "checks": _checks,
    "commands": _commands,
    "formats": _formats,
    "options": _options,
    "prompts": _prompts,
    "schemas": _schemas,
    "tables": _tables,
}
