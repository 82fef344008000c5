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
from typing import Any

from exam_pp.errors import SelectionError


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """What a plug-in adds, by name.

    Attributes:
        title: Heading of its commands in ``exam-pp --help``.
        commands: Path of a command, such as ``query`` or ``evaluate elo``, to (``module:object``, its help in
            one line).
        listings: Kind of ``exam-pp list`` and ``show`` to the module of its ``LISTING``.
        public: Name that is importable from ``exam_pp`` to its module, without ``exam_pp.``.
        registered: Group of a registry, such as ``prompts``, to the modules (without ``exam_pp.``) that add
            to it, each with the names that it adds, with blanks between; a name with a short one is
            ``name=short``.
        offers: Place in the core to the ``module:object`` that the plug-in has for it; who asks
            :func:`offered` for the place says what the object is.
    """

    title: str = ""
    commands: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    listings: Mapping[str, str] = field(default_factory=dict)
    public: Mapping[str, str] = field(default_factory=dict)
    registered: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    offers: Mapping[str, str] = field(default_factory=dict)


@cache
def own_plugins() -> list[Plugin]:
    """The plug-ins that are here, by name."""
    return [import_module(f"{__name__}.{each.name}.plugin").PLUGIN for each in iter_modules(__path__)]


@cache
def plugins() -> list[Plugin]:
    """The plug-ins that are here, by name, and the commands of other packages."""
    others = {
        entry.name: (entry.value, f"({entry.value})") for entry in entry_points(group="exam_pp.commands")
    }
    return [*own_plugins(), Plugin(title="Of other packages", commands=others)]


def commands_of(group: str) -> dict[str, tuple[str, str]]:
    """The commands that plug-ins add to ``exam-pp`` or one of its groups, by name."""
    every = {f"exam-pp {path}": command for each in plugins() for path, command in each.commands.items()}
    places = {path: path.split()[-2:] for path in every}
    return {name: every[path] for path, (place, name) in places.items() if place == group}


def registered_in(group: str) -> dict[str, str]:
    """Module to the names that it adds to a registry, of all plug-ins that are here."""
    return {
        module: names for each in own_plugins() for module, names in each.registered.get(group, {}).items()
    }


def offered(place: str) -> list[Any]:
    """What the plug-ins that are here have for a place in the core, by name of the plug-in; imports it."""
    found = [each.offers[place].partition(":") for each in own_plugins() if place in each.offers]
    return [getattr(import_module(module), name) for module, _, name in found]


def needed(place: str, plugin: str) -> Any:
    """What a plug-in has for a place in the core; raises :class:`SelectionError` without the plug-in."""
    for found in offered(place):
        return found
    raise SelectionError(f"This needs the plug-in {plugin}, which is not installed.")
