"""Mutants: how many small faults in modules the tests of a room notice.

Usage: python -m scripts.reliability.mutants MODULE... --tests PATH... [--count 40] [--seed 0]

Draws faults (another comparison, operator, constant, condition or result) from the modules, and runs with
each of them, in a copy of the checkout, the tests that run its line; all tests if no test does
(as a constant of a module, or a line that only other processes run). The same seed draws the same faults
while the modules do not change, so two runs compare the tests before and after a change of the tests. Prints
the faults that survive, and their number.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from coverage import Coverage, CoverageData

ROOT = Path(__file__).resolve().parents[2]
_OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or,
    ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip
_LIMIT = 600
"""Seconds after which a fault counts as noticed, because it made a loop endless."""


class Mutant(NamedTuple):
    """A fault: the part of a module that is replaced, and the code in its place."""

    module: Path
    node: ast.expr
    code: str

    def __str__(self) -> str:
        return f"{self.module.relative_to(ROOT)}:{self.node.lineno}: {self.code}"

    def applied(self) -> str:
        """The text of the module with the fault."""
        lines = self.module.read_bytes().splitlines(keepends=True)
        first, last = self.node.lineno - 1, (self.node.end_lineno or 0) - 1
        after = lines[last][self.node.end_col_offset :]
        lines[first : last + 1] = [lines[first][: self.node.col_offset] + f"({self.code})".encode() + after]
        return b"".join(lines).decode()


def mutants(module: Path) -> Iterator[Mutant]:
    """All faults of a module."""
    for node in ast.walk(ast.parse(module.read_bytes())):
        for changed in _changed(node):
            yield Mutant(module, changed[0], ast.unparse(changed[1]))


def _changed(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _OTHER:
            yield node, ast.Compare(node.left, [_OTHER[type(op)]()], node.comparators)  # type: ignore[list-item]
        case ast.BoolOp():
            yield node, ast.BoolOp(_OTHER[type(node.op)](), node.values)  # type: ignore[arg-type]
        case ast.BinOp() if type(node.op) in _OTHER:
            yield node, ast.BinOp(node.left, _OTHER[type(node.op)](), node.right)  # type: ignore[arg-type]
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield node, ast.Constant(value + 1)
        case ast.Constant(value=bool(value)):
            yield node, ast.Constant(not value)
        case ast.If() | ast.IfExp() | ast.While():
            yield node.test, ast.UnaryOp(ast.Not(), node.test)
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):
            yield value, ast.Constant(None)


def pytest_runtest_call(item: pytest.Item) -> None:
    """Note the test that runs the lines from here, where pytest loads this module and measures them."""
    measurement = Coverage.current()
    if measurement:
        measurement.switch_context(item.nodeid)


def run_tests(checkout: Path, tests: list[str], *measured: str, limit: float | None) -> bool:
    """Whether the tests pass in a copy of the checkout, within a limit in seconds."""
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "-p", "scripts.reliability.mutants"]
    variables = os.environ | {"PYTHONPATH": str(checkout), "CI": "1"}
    try:
        done = subprocess.run(
            [sys.executable, *measured, "-m", "pytest", *options, *tests],
            cwd=checkout, env=variables, capture_output=True, timeout=limit, check=False,
        )  # fmt: skip
        return done.returncode == 0
    except subprocess.TimeoutExpired:
        return False


def tests_by_line(checkout: Path, tests: list[str]) -> CoverageData:
    """The tests that run each line; an error if a test fails without a fault."""
    if not run_tests(checkout, tests, "-m", "coverage", "run", "--source", "exam_pp,scripts", limit=None):
        raise SystemExit(f"a test of {' '.join(tests)} fails without a fault")
    data = CoverageData(str(checkout / ".coverage"))
    data.read()
    return data


def is_noticed(mutant: Mutant, checkout: Path, tests: list[str], lines: CoverageData) -> bool:
    """Whether a test fails with the fault in a copy of the checkout."""
    place = checkout / mutant.module.relative_to(ROOT)
    contexts = [name for name in lines.contexts_by_lineno(str(place)).get(mutant.node.lineno, []) if name]
    original = place.read_bytes()
    place.write_text(mutant.applied(), encoding="utf-8")
    try:
        return not run_tests(checkout, contexts or tests, limit=_LIMIT)
    finally:
        place.write_bytes(original)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="+", type=Path)
    parser.add_argument("--tests", nargs="+", required=True)
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    files = [
        file for each in given.modules for file in (sorted(each.rglob("*.py")) if each.is_dir() else [each])
    ]
    every = [mutant for file in files for mutant in mutants(file.resolve())]
    drawn = random.Random(given.seed).sample(every, min(given.count, len(every)))
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder).resolve() / "checkout"
        shutil.copytree(ROOT, checkout, ignore=shutil.ignore_patterns(".venv*", ".git", "out", "__pycache__"))
        if (ROOT.parent / "shared").exists():
            (Path(folder) / "shared").symlink_to(ROOT.parent / "shared")
        lines = tests_by_line(checkout, given.tests)
        survivors = [mutant for mutant in drawn if not is_noticed(mutant, checkout, given.tests, lines)]
    for mutant in survivors:
        print(f"survived  {mutant}")
    print(f"{len(drawn) - len(survivors)} of {len(drawn)} faults are noticed by {' '.join(given.tests)}")


if __name__ == "__main__":
    main()
