"""Plug-ins: folders that can be deleted with their tests and pages; nothing else imports them.

A folder ``exam_pp/plugins/NAME`` has a file ``plugin.py`` with a :class:`Plugin`: the names that the plug-in
adds, and the modules behind them, which are imported when a name is used. Other packages add commands by
entry points of the group ``exam_pp.commands``, such as ``"evaluate mine" = "my_package:command"``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """What a plug-in adds, by name.

    Attributes:
        title: Heading of its commands in ``exam-pp --help``.
        commands: Path of a command, such as ``query`` or ``evaluate elo``, to (``module:object``, its help in
            one line).
        listings: Kind of ``exam-pp list`` and ``show`` to the module of its ``LISTING``.
        public: Name that is importable from ``exam_pp`` to its module, without ``exam_pp.``.
    """

    title: str = ""
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    listings: Mapping[str, str] = field(default_factory=dict)
    public: Mapping[str, str] = field(default_factory=dict)


@cache
def plugins() -> list[Plugin]:
    """The plug-ins that are here, by name, and the commands of other packages."""
    own = [import_module(f"{__name__}.{each.name}.plugin").PLUGIN for each in iter_modules(__path__)]
    others = {
        entry.name: (entry.value, f"({entry.value})") for entry in entry_points(group="exam_pp.commands")
    }
    return [*own, Plugin(title="Of other packages", commands=others)]


def commands_of(group: str) -> dict[str, tuple[str, str]]:
    """The commands that plug-ins add to ``exam-pp`` or one of its groups, by name."""
    every = {f"exam-pp {path}": command for each in plugins() for path, command in each.commands.items()}
    places = {path: path.split()[-2:] for path in every}
    return {name: every[path] for path, (place, name) in places.items() if place == group}
