"""Import rules: layers, rooms, no circular imports, heavy packages only inside functions."""

from __future__ import annotations

import ast
import pkgutil
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from itertools import chain
from pathlib import Path

import pytest

from exam_pp import errors
from exam_pp.cli.main import SECTIONS
from scripts.import_graph import (
    LAYERS,
    OUTSIDE,
    PACKAGE,
    ROOMS,
    SEPARATE,
    SHOWS,
    imports_of,
    modules,
    room_of,
)

HEAVY = {"torch", "transformers", "tokenizers", "accelerate", "safetensors", "ctranslate2", "openai"} | {
    "scipy", "numpy", "pandas", "duckdb", "ir_measures", "pytrec_eval", "nltk", "pyarrow",
}  # fmt: skip
# Rooms whose modules are themselves only imported by the command that needs them.
MAY_BE_HEAVY = {"llm": HEAVY, "metrics": {"scipy", "numpy", "ir_measures", "pytrec_eval", "nltk"}}

MODULES = sorted(PACKAGE.rglob("*.py"))


def part(path: Path) -> str:
    """The first part of a module's name below the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@cache
def syntax(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(path: Path, *, top_level: bool = False) -> Iterator[tuple[str, int]]:
    """Absolute module names that a file imports, with line numbers."""
    nodes = _outside_functions(syntax(path)) if top_level else ast.walk(syntax(path))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            base = node.module or ""
            yield base, node.lineno
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)


# Imported packages that are not declared, because a declared package depends on them.
COME_WITH = {"pydantic_core": "pydantic", "jinja2": "torch", "yaml": "transformers"}


def test_imported_packages_are_declared() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
    declared = {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in lines}
    used = {name.partition(".")[0] for path in MODULES for name, _ in imports(path)}
    foreign = used - sys.stdlib_module_names - {"exam_pp", ""}
    assert {COME_WITH.get(name, name) for name in foreign} <= declared


def _outside_functions(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that are executed on import, without ``if TYPE_CHECKING`` blocks."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield child
        yield from _outside_functions(child)


def name(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_every_module_has_a_layer() -> None:
    unknown = {part(path) for path in MODULES} - LAYERS.keys() - OUTSIDE
    assert not unknown, f"give {unknown} a layer in this file and in docs/project/design.md"


def test_imports_point_down() -> None:
    problems = []
    for path in MODULES:
        here = part(path)
        if here in OUTSIDE:
            continue
        for module, line in imports(path):
            parts = module.split(".")
            if parts[0] != "exam_pp" or len(parts) < 2 or parts[1] == here:
                continue
            there = parts[1]
            where = f"{name(path)}:{line}: {here} imports {there}"
            if there not in LAYERS:
                problems.append(f"{where}, which has no layer")
            elif LAYERS[there] > LAYERS[here]:
                problems.append(f"{where}, a layer above")
            elif LAYERS[there] == LAYERS[here] and LAYERS[here] in SEPARATE:
                problems.append(f"{where}, a part of the same layer")
    assert problems == []


def test_only_reports_and_commands_import_rendering() -> None:
    users = {room_of(m)[0] for m in modules() for other in imports_of(m) if room_of(other)[0] == "rendering"}
    assert users == {"rendering", *SHOWS}


def test_rooms_import_what_their_table_allows() -> None:
    """Modules import modules of their room, files beside the rooms, and rooms that the table allows."""
    problems = []
    for module in sorted(modules()):
        here, room = room_of(module)
        for other in imports_of(module):
            there, other_room = room_of(other)
            if here != there or room == other_room or here not in ROOMS:
                continue
            if not room:
                problems.append(f"{module} lies beside the rooms and imports {other} from one of them")
            elif other_room and other_room not in ROOMS[here][room]:
                problems.append(f"{module} imports {other}")
    assert problems == []


def test_rules_between_rooms_are_acyclic() -> None:
    for part_, rooms in ROOMS.items():
        TopologicalSorter(rooms).prepare()  # raises CycleError
        folders = {path.name for path in (PACKAGE / part_).iterdir() if (path / "__init__.py").exists()}
        assert folders == rooms.keys(), f"folders of {part_}/ and their rules"


def test_no_circular_imports() -> None:
    TopologicalSorter({module: imports_of(module) for module in modules()}).prepare()  # raises CycleError


@pytest.mark.parametrize("part_", ["phases", "reports"])
def test_all_modules_are_in_rooms(part_: str) -> None:
    assert [path.name for path in (PACKAGE / part_).glob("*.py")] == ["__init__.py"]


def test_sections_of_the_help_are_the_rooms() -> None:
    composed = {"rag"}  # runs phases of several rooms; its command is in evaluation
    assert SECTIONS.keys() == ROOMS["cli"].keys()
    assert ROOMS["phases"].keys() - composed <= ROOMS["cli"].keys()
    assert ROOMS["reports"].keys() <= ROOMS["phases"].keys()


def test_layers_are_in_the_documentation() -> None:
    """In the drawing a line is a layer, or continues the layer above."""
    page = (PACKAGE.parent / "docs" / "project" / "design.md").read_text(encoding="utf-8")
    drawing = page.partition("```text\n7 ")[2].partition("```")[0]
    drawn, layer = {}, 7
    for line in drawing.splitlines():
        layer = int(line[0]) if line[:1].isdigit() else layer
        names = line.split() if layer == 0 else line.removeprefix(str(layer)).split()[:1]
        drawn.update({name.rstrip("/"): layer for name in names if name.rstrip("/") in LAYERS})
    assert drawn == LAYERS


def test_heavy_packages_are_imported_inside_functions() -> None:
    assert [
        f"{name(path)}:{line}: {module} at import"
        for path in MODULES
        for module, line in imports(path, top_level=True)
        if module.split(".")[0] in HEAVY - MAY_BE_HEAVY.get(part(path), set())
    ] == []


def test_nothing_prints() -> None:
    assert [
        f"{name(path)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(syntax(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ] == []


def stale_references(text: str) -> list[str]:
    """Names in docstrings (``:func:`name```) that exist neither in the module nor in the package."""
    tree = ast.parse(text)
    known = {getattr(node, "id", None) or getattr(node, "attr", None) for node in ast.walk(tree)} | set(
        dir(errors)
    )
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            known.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            known.update(alias.asname or alias.name for alias in node.names)
    references = re.findall(r":(?:class|func|meth|mod|attr|data|exc):`(?:[^`<]*<)?~?([\w.]+)", text)
    return [name for name in references if not (set(name.split(".")) <= known or resolves(name))]


def resolves(name: str) -> bool:
    try:
        pkgutil.resolve_name(name)
    except (AttributeError, ImportError):
        return False
    return True


def test_names_in_docstrings_exist() -> None:
    stale = {name(path): stale_references(path.read_text(encoding="utf-8")) for path in MODULES}
    assert {module: names for module, names in stale.items() if names} == {}


def test_violations_are_detected(tmp_path: Path) -> None:
    """The walk finds imports in functions, in classes and of submodules."""
    module = tmp_path / "m.py"
    module.write_text("import torch.nn\nclass A:\n    import scipy\ndef f():\n    from exam_pp import cli\n")
    assert {name for name, _ in imports(module)} == {"torch.nn", "scipy", "exam_pp", "exam_pp.cli"}
    assert {name for name, _ in imports(module, top_level=True)} == {"torch.nn", "scipy"}
    references = ":func:`f` :class:`~exam_pp.errors.DataError` :class:`gone` :func:`exam_pp.phases.gone.f`"
    assert stale_references(f'def f():\n    """{references}"""') == ["gone", "exam_pp.phases.gone.f"]
