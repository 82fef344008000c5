"""Registry of the output formats of reports, and rendering by format name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from exam_pp.registry import Registry
from exam_pp.rendering.document import Report

Renderer = Callable[[Report], str]
"""A function that renders a report as a text, which ends with a line end."""
RENDERERS: Registry[Renderer] = Registry("output format", "renderers")


def render(report: Report, form: str) -> str:
    """Render a report in the named format; the text ends with a line end."""
    return RENDERERS.get(form)(report)


_RENDERERS = {
    "text": ("text", "text"),
    "tsv": ("tables", "tsv"),
    "json": ("tables", "json_document"),
    "md": ("markdown", "markdown"),
    "html": ("html", "page"),
    "latex": ("latex", "latex"),
}
"""Format to module and function; the module is imported at the first use of the format."""

REPORT_FORMATS = tuple(_RENDERERS)
"""Built-in formats in the order of ``--help``; the first is the default."""


def _load(module: str, function: str) -> Renderer:
    renderer: Renderer = getattr(import_module(f"{__package__}.{module}"), function)
    return renderer


for _form, _module_and_function in _RENDERERS.items():
    RENDERERS.add_lazy(_form, partial(_load, *_module_and_function))
