"""Output formats of reports: a registry of renderers, and rendering by the name of a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
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


def _add(name: str, module: str, function: str) -> None:
    """Register a renderer whose module is imported when it is first used."""

    def load() -> Renderer:
        renderer: Renderer = getattr(import_module(f"exam_pp.rendering.{module}"), function)
        return renderer

    RENDERERS.add_lazy(name, load)


_add("text", "text", "text")
_add("tsv", "tsv", "tsv")
_add("md", "markdown", "markdown")
_add("json", "json_tables", "json_document")
_add("latex", "latex", "latex")
_add("html", "html", "page")
