"""The rooms of exam_pp, which room may import which, and the imports as they are.

Usage: python scripts/import_graph.py [--table]

Prints every room with its size and the rooms that it imports. ``--table`` prints the rules as docs/design.md
shows them. tests/test_architecture.py checks the imports against the rules.
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
    **dict.fromkeys(("cli", "api"), 6),
    "reports": 5,
    "phases": 4,
    **dict.fromkeys(("graders", "formats"), 3),
    **dict.fromkeys(("store", "llm", "prompts", "metrics", "rendering"), 2),
    **dict.fromkeys(("data_model", "test_bank", "grade_filter", "results", "messages", "edits", "packed"), 1),
    **dict.fromkeys(("errors", "frames", "highlight", "registry"), 0),
    **dict.fromkeys(("sentences", "stopwords", "stemming", "wording"), 0),
}
"""Imports point down. On layers 2 and 3 the parts do not import each other at all."""
SEPARATE = (2, 3)

SHOWS = ("cli", "reports")
"""Only these import ``rendering``; all others deal in results."""

ROOMS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "phases": {
        "passages": (),
        "evaluation": (),
        "analysis": ("evaluation",),
        "grading": ("passages",),
        "review": ("evaluation", "passages"),
        "banks": ("evaluation", "grading", "passages"),
        "interchange": ("banks", "evaluation"),
        "validation": ("banks",),
        "sql": ("evaluation",),
    },
    "reports": {
        "evaluation": (),
        "analysis": ("evaluation",),
        "grading": (),
        "review": (),
        "banks": (),
        "interchange": (),
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
        "review": (),
        "evaluation": (),
        "analysis": ("evaluation",),
        "sql": (),
        "validation": (),
    },
}
"""Rooms of a layer, each with those it may import from; files beside the rooms are for all of them."""

OUTSIDE = {"__init__", "__main__", "bundled"}
"""Not part of the house: the version, ``python -m exam_pp``, a checkpoint."""


@cache
def modules() -> dict[str, Path]:
    """Dotted names of all modules, without the package's own name, and their files."""
    return {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PACKAGE.rglob("*.py")}


def room_of(module: str) -> tuple[str, str]:
    """The layer's part and the room of a module such as ``phases.banks.clinic``; "" beside the rooms."""
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
                found = _module(name.removeprefix("exam_pp."))
                if found is not None and found != module:
                    yield found


def _module(name: str) -> str | None:
    """The module that a dotted name is, or is in."""
    for candidate in (name, name.rpartition(".")[0]):
        for known in (candidate, f"{candidate}.__init__"):
            if known in modules():
                return known
    return None


def circles() -> list[list[str]]:
    """Groups of modules that import each other, directly or in a circle (strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

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
                found.append(sorted(group))

    for module in sorted(modules()):
        if module not in index:
            visit(module)
    return found


def table() -> str:
    """Which room may import which, in Markdown."""
    rows = ["| package | room | may import from |", "|---|---|---|"]
    for part, rooms in ROOMS.items():
        rows += [f"| `{part}/` | `{room}` | {', '.join(below) or '–'} |" for room, below in rooms.items()]
    return "\n".join(rows) + "\n"


def graph() -> str:
    """Every room with its files, its lines and what it imports, highest layer first."""
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
    parser.add_argument("--table", action="store_true", help="the rules, as docs/design.md shows them")
    print(table() if parser.parse_args().table else graph(), end="")


if __name__ == "__main__":
    main()
