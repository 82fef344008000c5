"""The size of the core and of each plug-in beside its budget in scripts/budgets.toml.

Usage: ``python -m scripts.budgets``. Exits with 1 if a part is larger than its budget, or has none.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path

import click

PACKAGE = Path(__file__).resolve().parents[1] / "exam_pp"
BUDGETS: dict[str, int] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))[
    "statements"
]


def part_of(file: str) -> str:
    """The plug-in of a file, by its path below ``exam_pp``; all other files are the core."""
    folders = file.split("/")[:-1]
    return folders[1] if folders[:1] == ["plugins"] and len(folders) > 1 else "core"


def statements(package: Path = PACKAGE) -> Counter[str]:
    """Part to the number of its statements."""
    sizes: Counter[str] = Counter()
    for path in package.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        part = part_of(path.relative_to(package).as_posix())
        sizes[part] += sum(isinstance(node, ast.stmt) for node in ast.walk(tree))
    return sizes


def beyond(sizes: Counter[str]) -> list[str]:
    """A sentence for each part that is larger than its budget, or has none."""
    return [
        f"{part} has {size:,} statements; its budget in scripts/budgets.toml is {BUDGETS.get(part, 0):,}."
        for part, size in sizes.items()
        if size > BUDGETS.get(part, 0)
    ]


def main() -> None:
    sizes = statements()
    for part, size in sorted(sizes.items(), key=lambda item: -item[1]):
        click.echo(f"{part:<14}{size:>8,} of {BUDGETS.get(part, 0):>8,} statements")
    click.echo(f"{'together':<14}{sizes.total():>8,}")
    sys.exit("\n".join(beyond(sizes)) or 0)


if __name__ == "__main__":
    main()
