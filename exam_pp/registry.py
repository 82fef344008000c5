"""Registries of prompts, backends, output formats and file formats by name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Generic, TypeVar

from exam_pp.errors import ExamError, UnknownNameError
from exam_pp.plugins import registered_in
from exam_pp.text.wording import closest

log = logging.getLogger(__name__)

T = TypeVar("T")


class Registry(Generic[T]):
    """A mapping of names to values of one type, such as prompts or backends.

    :meth:`add` registers a value. :meth:`add_lazy` registers a function that the first :meth:`get` calls, so
    that listing names does not import heavy packages. Other installed packages register values through the
    entry-point group ``exam_pp.<group>``, which is read when a name is unknown or all names are listed. The
    modules of ``package`` are imported at the first look-up and register values then. ``modules`` maps a
    module of exam_pp to the names that it registers, with blanks between, as ``name`` or ``name=short``: one
    is imported for its names, and all are for any other name. Plug-ins add such modules by ``group``.

    ``kind`` names a value in messages, such as ``prompt``. A value with a short name is called by it in
    messages.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        package: str | None = None,
        modules: Mapping[str, str] | None = None,
    ) -> None:
        self.kind = kind
        self._package = package
        self._group = group
        self._values: dict[str, T] = {}
        self._lazy: dict[str, Callable[[], T]] = {}
        self._aliases: dict[str, str] = {}
        self._old_names: set[str] = set()
        self._short_names: dict[str, str] = {}
        self._modules: dict[str, str] = {}
        self._add_modules(modules or {})
        self._own_plugins_read = self._others_read = False

    def _add_modules(self, modules: Mapping[str, str]) -> None:
        for module, names in modules.items():
            for each in names.split():
                name, _, short = each.partition("=")
                self._modules[name] = module
                if short:
                    self._short_names[name], self._modules[short] = short, module

    def add(
        self,
        name: str,
        value: T,
        *,
        short: str = "",
        aliases: tuple[str, ...] = (),
        old_names: tuple[str, ...] = (),
    ) -> T:
        """Register a value."""
        others = (*([short] if short else []), *aliases, *old_names)
        self._claim(name, *others)
        self._values[name] = value
        self._aliases.update(dict.fromkeys(others, name))
        if short:
            self._short_names[name] = short
        self._old_names.update(old_names)
        return value

    def add_lazy(self, name: str, make: Callable[[], T]) -> None:
        """Register a value that is made at its first use."""
        self._claim(name)
        self._lazy[name] = make

    def get(self, name: str) -> T:
        """The value of a name that a user chose; logs a warning for an old name."""
        if name not in self:
            raise UnknownNameError(self._unknown(name))
        self.warn_of_old_name(name)
        return self._value(name)

    def warn_of_old_name(self, name: str | None) -> None:
        """Log a warning if a name that a user chose is the old name of a value.

        ``name``: The name; None is not a name.
        """
        if name in self and name in self._old_names:
            log.warning(
                "%r is an old name; the %s is now called %r.",
                name,
                self.kind,
                self._shown(self._aliases[name or ""]),
            )

    def _value(self, name: str) -> T:
        key = self._aliases.get(name, name)
        if key in self._lazy:
            self._values[key] = self._lazy[key]()
            del self._lazy[key]
        return self._values[key]

    def find(self, name: str | None) -> T | None:
        """The value of a name, such as one in a file, or None.

        ``name``: The name of the value, or an alias. None is not a name. Returns the value, or None if the
        name is not registered.
        """
        return self._value(name) if name is not None and name in self else None

    def names(self) -> list[str]:
        """Return all names, sorted, without aliases."""
        self._import_all()
        self._read_others()
        return sorted({*self._values, *self._lazy})

    def short_names(self) -> dict[str, str]:
        """Name to short name, of all values that have one."""
        self._read_own_plugins()
        return dict(self._short_names)

    def _shown(self, name: str) -> str:
        name = self._aliases.get(name, name)
        return self._short_names.get(name, name)

    def aliases(self, name: str) -> tuple[str, ...]:
        """The other names of a value, without its short name."""
        short = self._short_names.get(name)
        return tuple(alias for alias, target in self._aliases.items() if target == name and alias != short)

    def __contains__(self, name: object) -> bool:
        """Whether exam_pp or an installed package has registered the name."""
        self._import_package()
        self._import_module_of(name)
        if not self._is_taken(name):
            self._read_own_plugins()
            self._import_module_of(name)
        if not self._is_taken(name):
            self._import_all()
            self._read_others()
        return self._is_taken(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def _is_taken(self, name: object) -> bool:
        return name in self._values or name in self._lazy or name in self._aliases

    def _claim(self, *names: str) -> None:
        for name in names:
            self._import_module_of(name)
            if self._is_taken(name):
                raise ValueError(f"{self.kind} {name!r} is already registered")

    def _unknown(self, name: str) -> str:
        names = self.names()
        known = {other.lower(): other for other in [*self._values, *self._lazy, *self._aliases]}
        begun = [other for other in known if other.startswith(name.lower())] if name else []
        close = begun or filter(None, [closest(name.lower(), known)])
        hint = f"Known: {', '.join(sorted(map(self._shown, names)))}."
        if shown := [self._shown(known[match]) for match in close]:
            hint = f"Did you mean {min(shown, key=len)!r}?"
        return f"No {self.kind} named {name!r}. {hint}"

    def _import_package(self) -> None:
        if self._package is not None:
            package, self._package = import_module(self._package), None
            for module in iter_modules(package.__path__, f"{package.__name__}."):
                import_module(module.name)

    def _import_module_of(self, name: object) -> None:
        if name in self._modules:
            import_module(f"exam_pp.{self._modules[str(name)]}")

    def _read_own_plugins(self) -> None:
        if not self._own_plugins_read:
            self._own_plugins_read = True
            self._add_modules(registered_in(self._group))

    def _import_all(self) -> None:
        self._import_package()
        self._read_own_plugins()
        for name in self._modules:
            self._import_module_of(name)

    def _read_others(self) -> None:
        if self._others_read:
            return
        self._others_read = True
        for entry in entry_points(group=f"exam_pp.{self._group}"):
            if not self._is_taken(entry.name):
                self._lazy[entry.name] = lambda entry=entry: self._load(entry)  # type: ignore[misc]

    def _load(self, entry: object) -> T:
        try:
            return entry.load()  # type: ignore[attr-defined, no-any-return]
        except Exception as error:  # a broken plug-in is not a bug of exam_pp
            raise ExamError(f"The {self.kind} plug-in {entry} cannot be loaded: {error}") from error
