"""Import rules of exam_pp (layers and rooms), and its imports. tests/test_architecture.py compares them.

A layer is a group of packages; a room is a package inside ``phases``, ``reports``, ``store`` or ``cli``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "exam_pp"

LAYERS = {
    **dict.fromkeys(("cli", "api", "plugins"), 7),
    "studies": 6,
    "reports": 5,
    "phases": 4,
    **dict.fromkeys(("graders", "formats"), 3),
    **dict.fromkeys(("store", "llm", "prompts", "metrics", "rendering"), 2),
    **dict.fromkeys(("data_model", "banks", "games", "pair_sample", "grade_filter", "roles", "results"), 1),
    **dict.fromkeys(("decided_grades", "judges", "llm_requests", "provenance"), 1),
    **dict.fromkeys(
        ("_version", "defaults", "errors", "models", "records", "registry", "signals", "splicing", "text"), 0
    ),
}
"""Part to layer; a part may only import parts of lower layers or of its own layer."""
SEPARATE = (2, 3)
"""Layers whose parts may not import each other."""

SHOWS = ("cli", "reports", "studies")
"""The only parts that may import ``rendering``."""

ROOMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "phases": {
        "passages": (),
        "evaluation": (),
        "grading": ("passages",),
        "analysis": ("evaluation",),
        "review": ("evaluation", "passages"),
        "banks": ("evaluation", "grading", "passages"),
        "interchange": ("banks", "evaluation"),
        "validation": ("evaluation",),
    },
    "reports": {
        "evaluation": (),
        "analysis": ("evaluation", "review"),
        "review": (),
        "validation": (),
    },
    "store": {
        "passages": (),
        "trec": (),
        "banks": (),
    },
    "cli": {
        "study": (),
        "interchange": (),
        "passages": (),
        "banks": (),
        "grading": (),
        "review": (),
        "evaluation": (),
        "analysis": ("evaluation",),
        "validation": (),
    },
}
"""Part to room to the rooms of the same part that it may import.

All rooms may import the files directly in the part's folder.
"""

PLUGINS = "plugins.__init__"
"""The table of plug-ins: all that the rest may import of them."""
OUTSIDE = {"__init__", "__main__"}
"""Modules without a layer: the package itself, and ``python -m exam_pp``."""


@cache
def modules() -> dict[str, Path]:
    """Dotted module name (without ``exam_pp.``) to file, for all modules."""
    return {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}


def room_of(module: str) -> tuple[str, str]:
    """The part and the room of a module such as ``phases.banks.compare``; the room is "" if it is in none."""
    part, *rest = module.split(".")
    return part, rest[0] if rest and rest[0] in ROOMS.get(part, {}) else ""


@cache
def imports_of(module: str) -> frozenset[str]:
    """The modules of the package that a module imports, anywhere in its code."""
    return frozenset(_imports(ast.parse(modules()[module].read_text(encoding="utf-8")), module))


def _imports(tree: ast.AST, module: str) -> Iterator[str]:
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            if name.startswith("exam_pp."):
                imported = _module(name.removeprefix("exam_pp."))
                if imported is not None and imported != module:
                    yield imported


def _module(name: str) -> str | None:
    """The module with this dotted name, or the module that contains it; else None."""
    for candidate in (name, name.rpartition(".")[0]):
        for known in (candidate, f"{candidate}.__init__"):
            if known in modules():
                return known
    return None
