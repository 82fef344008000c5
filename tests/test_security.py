"""Data of files is never executed, and ids never write outside the output folder."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from tests.conftest import passage

PACKAGE = Path(__file__).resolve().parents[1] / "exam_pp"
MODULES = sorted(PACKAGE.rglob("*.py"))

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


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func), node


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_data_is_not_executed(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and ast.unparse(node) not in ALLOWED_IMPORTS:
            names = [node.module or ""]
        assert not {name.split(".")[0] for name in names} & MODULES_THAT_EXECUTE, (
            f"{path}:{ast.unparse(node)}"
        )
    for name, call in calls(tree):
        where = f"{path}:{call.lineno}: {name}"
        assert name not in CALLS_THAT_EXECUTE, where
        shell = [keyword.value for keyword in call.keywords if keyword.arg == "shell"]
        assert not shell, f"{where} with shell"
        trusted = [keyword for keyword in call.keywords if keyword.arg == "trust_remote_code"]
        assert all(isinstance(k.value, ast.Constant) and k.value.value is False for k in trusted), where


@pytest.fixture
def evil(write_jsonl: Callable[[str, list[Any]], Path]) -> Path:
    """Queries, passages and systems with ids that are dangerous as file names."""

    def ranked(key: str, system: str) -> dict[str, Any]:
        ranking = {"method": system or "empty", "paragraphId": key, "queryId": "q", "rank": 1, "score": 1.0}
        return passage(key, paragraph_data={"judgments": [], "rankings": [ranking]})

    return write_jsonl("evil.jsonl", [[name, [ranked(f"p{i}", name)]] for i, name in enumerate(EVIL)])


def tree_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_a_split_by_query_stays_in_its_folder(evil: Path, tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    main(["-q", "split", str(evil), "-o", str(folder), "--by", "query"])
    written = tree_of(tmp_path) - {evil}
    assert {path.parent for path in written} == {folder}
    assert sorted(json.loads(path.read_text())[0] for path in written) == sorted(EVIL)
