"""Output formats of reports: a registry of renderers, and rendering by the name of a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module

from exam_pp.registry import Registry
from exam_pp.rendering.document import Report

Renderer = Callable[[Report], str | Iterable[str]]
"""Makes a report a text, or the parts of one."""
RENDERERS: Registry[Renderer] = Registry("output format", "renderers")


def render(report: Report, form: str) -> str:
    """The report in the named format, ending with a line end."""
    return "".join(rendered(report, form))


def rendered(report: Report, form: str) -> Iterable[str]:
    """As :func:`render`, in parts as they are made: for reports that are longer than the memory."""
    found = RENDERERS.get(form)(report)
    return [found] if isinstance(found, str) else found


_RENDERERS = {
    "text": ("text", "text"),
    "tsv": ("tsv", "tsv"),
    "json": ("json_tables", "json_document"),
    "md": ("markdown", "markdown"),
    "html": ("html", "page"),
    "latex": ("latex", "latex"),
}
"""Format to module and function; a module is imported when its format is first used."""

REPORT_FORMATS = tuple(_RENDERERS)
"""The formats of this package, in the order of ``--help``; the first is the default."""


def _load(module: str, function: str) -> Renderer:
    renderer: Renderer = getattr(import_module(f"{__package__}.{module}"), function)
    return renderer


for _form, _place in _RENDERERS.items():
    RENDERERS.add_lazy(_form, partial(_load, *_place))
