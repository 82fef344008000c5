"""Data of files is never executed, and ids never write outside the output folder."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import passage

PACKAGE = Path(__file__).resolve().parents[1] / "exam_pp"

MODULES_THAT_EXECUTE = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "marshal",
    "shelve",
    "joblib",
    "code",
    "pty",
}
ALLOWED_IMPORTS = {"from pickle import UnpicklingError"}
"""torch raises this error when it refuses to unpickle."""
CALLS_THAT_EXECUTE = {"eval", "exec", "compile", "os.system", "os.popen", "subprocess.getoutput",
                      "subprocess.getstatusoutput", "yaml.load", "yaml.unsafe_load", "tempfile.mktemp",
                      "torch.load"}  # fmt: skip

EVIL = [
    "../../x",
    "/etc/x",
    "..",
    ".",
    "",
    "a/b",
    "a\\b",
    "CON",
    "x\u0000y",
    "~/x",
    "$(x)",
    "`x`",
    "; rm x",
    "-o",
]


def imported(node: ast.AST) -> set[str]:
    """The packages that a statement imports."""
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and ast.unparse(node) not in ALLOWED_IMPORTS:
        return {(node.module or "").partition(".")[0]}
    return set()


def name_of(function: ast.expr) -> str:
    """A name such as ``eval`` or ``os.system``."""
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return getattr(function, "id", "")


def runs_a_shell_or_code_of_models(call: ast.Call) -> bool:
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    trusted = keywords.get("trust_remote_code")
    return "shell" in keywords or (trusted is not None and ast.unparse(trusted) != "False")


def test_data_is_not_executed() -> None:
    assert [
        f"{path}: {ast.unparse(node)}"
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if imported(node) & MODULES_THAT_EXECUTE
        or (
            isinstance(node, ast.Call)
            and (name_of(node.func) in CALLS_THAT_EXECUTE or runs_a_shell_or_code_of_models(node))
        )
    ] == []


@pytest.fixture
def evil(write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    """Queries, passages and systems with ids that are dangerous as file names."""

    def ranked(key: str, system: str) -> dict[str, Any]:
        ranking = {"method": system or "empty", "paragraphId": key, "queryId": "q", "rank": 1, "score": 1.0}
        return passage(key, paragraph_data={"judgments": [], "rankings": [ranking]})

    return write_jsonl("evil.jsonl", [[name, [ranked(f"p{i}", name)]] for i, name in enumerate(EVIL)])
