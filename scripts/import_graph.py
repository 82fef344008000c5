"""Import rules of exam_pp (layers and rooms), and its actual import graph.

A layer is a group of packages; a room is a package inside ``phases``, ``reports``, ``store`` or ``cli``.

Usage: python scripts/import_graph.py [--table]

Prints every room with its size and the rooms that it imports. ``--table`` prints the rules in the form of
docs/project/design.md. tests/test_architecture.py checks the imports against the rules.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "exam_pp"

LAYERS = {
    **dict.fromkeys(("cli", "api", "autojudge"), 6),
    "reports": 5,
    "phases": 4,
    **dict.fromkeys(("graders", "formats"), 3),
    **dict.fromkeys(("store", "llm", "prompts", "metrics", "rendering"), 2),
    **dict.fromkeys(("data_model", "test_bank", "grade_filter", "results", "requests", "edits", "packed"), 1),
    **dict.fromkeys(("provenance", "roles", "games", "pair_sample", "manifest"), 1),
    **dict.fromkeys(("errors", "frames", "highlight", "registry"), 0),
    **dict.fromkeys(("sentences", "spreadsheets", "signals", "stopwords", "stemming", "wording"), 0),
}
"""Part to layer; a part may only import parts of lower layers or of its own layer."""
SEPARATE = (2, 3)
"""Layers whose parts may not import each other."""

SHOWS = ("cli", "reports")
"""The only parts that may import ``rendering``."""

ROOMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "phases": {
        "passages": (),
        "evaluation": (),
        "grading": ("passages",),
        "tournaments": ("evaluation", "grading"),
        "analysis": ("evaluation", "tournaments"),
        "review": ("evaluation", "passages"),
        "banks": ("evaluation", "grading", "passages"),
        "interchange": ("banks", "evaluation"),
        "trust": ("evaluation", "grading", "passages", "tournaments"),
        "validation": ("banks",),
        "sql": ("evaluation",),
        "rag": ("banks", "evaluation", "grading", "interchange", "passages"),
    },
    "reports": {
        "evaluation": (),
        "tournaments": ("evaluation",),
        "analysis": ("evaluation", "review", "tournaments"),
        "grading": (),
        "review": (),
        "banks": (),
        "interchange": (),
        "trust": (),
        "validation": (),
    },
    "store": {
        "passages": (),
        "trec": (),
        "banks": (),
        "sql": ("passages",),
    },
    "cli": {
        "interchange": (),
        "passages": (),
        "banks": (),
        "grading": (),
        "tournaments": (),
        "review": (),
        "evaluation": (),
        "analysis": ("evaluation",),
        "trust": (),
        "sql": (),
        "validation": (),
    },
}
"""Part to room to the rooms of the same part that it may import.

All rooms may import the files directly in the part's folder.
"""

OUTSIDE = {"__init__", "__main__", "bundled"}
"""Modules without a layer: the package itself, ``python -m exam_pp``, the bundled checkpoint."""


@cache
def modules() -> dict[str, Path]:
    """Dotted module name (without ``exam_pp.``) to file, for all modules."""
    return {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}


def room_of(module: str) -> tuple[str, str]:
    """The part and the room of a module such as ``phases.banks.clinic``; the room is "" if it is in none."""
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


def circles() -> list[list[str]]:
    """Groups of modules with circular imports (strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in imports_of(module):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            at = stack.index(module)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                components.append(sorted(group))

    for module in sorted(modules()):
        if module not in index:
            visit(module)
    return components


def table() -> str:
    """The rules between rooms as a Markdown table."""
    rows = ["| package | room | may import from |", "|---|---|---|"]
    for part, rooms in ROOMS.items():
        rows += [f"| `{part}/` | `{room}` | {', '.join(below) or '–'} |" for room, below in rooms.items()]
    return "\n".join(rows) + "\n"


def graph() -> str:
    """Every room with its numbers of files and lines and its imports, highest layer first."""
    sizes: dict[str, list[int]] = defaultdict(list)
    edges: dict[str, set[str]] = defaultdict(set)
    for module, path in modules().items():
        here = room_of(module)
        if here[0] in OUTSIDE:
            continue
        name = "/".join(filter(None, here))
        sizes[name].append(len(path.read_text(encoding="utf-8").splitlines()))
        there = {room_of(other) for other in imports_of(module)}
        edges[name] |= {"/".join(filter(None, room)) for room in there if room != here}
    lines = []
    for name in sorted(sizes, key=lambda name: (-LAYERS[name.partition("/")[0]], name)):
        below = " ".join(sorted(edges[name])) or "-"
        lines.append(f"{name:<22} {len(sizes[name]):>3} files {sum(sizes[name]):>6} lines  -> {below}")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--table", action="store_true", help="print the rules in the form of docs/project/design.md"
    )
    print(table() if parser.parse_args().table else graph(), end="")


if __name__ == "__main__":
    main()
