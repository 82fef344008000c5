"""Public names: fast import, types, docstrings, and their list in docs/reference/python.md."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import exam_pp
from exam_pp.plugins import plugins

ROOT = Path(__file__).resolve().parents[2]

OTHER_NAMES = {"nugget_scores": "rubric_scores"}
"""Other name of a function to its name."""

IMPORTED = """
import sys
before = set(sys.modules)
import exam_pp
dir(exam_pp)
new = set(sys.modules) - before
print(*sorted(name for name in new if name.partition(".")[0] not in sys.stdlib_module_names))
"""


def test_import_exam_pp_imports_no_other_package() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    assert {name.partition(".")[0] for name in done.stdout.split()} == {"exam_pp"}


@pytest.mark.parametrize("name", dir(exam_pp))
def test_every_name_resolves_and_has_a_docstring(name: str) -> None:
    value = getattr(exam_pp, name)
    if name == "PROMPTS":
        value = type(value)
    assert inspect.getdoc(value)
    if inspect.isfunction(value):
        assert value.__name__ == OTHER_NAMES.get(name, name)


def test_the_three_lists_of_public_names_agree() -> None:
    tree = ast.parse((ROOT / "exam_pp" / "__init__.py").read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    homes = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert homes == {name: f"exam_pp.{module}" for name, module in exam_pp._HOMES.items()}
    assert {*exam_pp.__all__, "__version__"} == homes.keys()
    added = {name for plugin in plugins() for name in plugin.public}
    assert dir(exam_pp) == sorted(homes.keys() | added)


def test_no_public_name_is_the_name_of_a_submodule() -> None:
    """Because an import of the submodule would replace the public name."""
    assert not {path.stem for path in (ROOT / "exam_pp").iterdir()} & set(exam_pp.__all__)
