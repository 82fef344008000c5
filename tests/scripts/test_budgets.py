"""scripts/budgets.py: which part a file belongs to, and what is beyond a budget."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scripts.budgets import BUDGETS, beyond, part_of, statements


@pytest.mark.parametrize(
    ("file", "part"),
    [
        ("plugins/sql/query.py", "sql"),
        ("plugins/games/deeper/elo.py", "games"),
        ("plugins/__init__.py", "core"),
        ("metrics/cover.py", "core"),
        ("banks.py", "core"),
    ],
)
def test_parts(file: str, part: str) -> None:
    assert part_of(file) == part


def test_statements_are_counted(tmp_path: Path) -> None:
    (tmp_path / "plugins" / "sql").mkdir(parents=True)
    (tmp_path / "plugins" / "sql" / "a.py").write_text("if x: y = 1; z = 2\n")
    (tmp_path / "b.py").write_text("x = (\n    1\n)\n")
    assert statements(tmp_path) == {"sql": 3, "core": 1}


def test_a_part_that_is_too_large_and_one_without_a_budget() -> None:
    core = BUDGETS["core"]
    assert beyond(Counter(core=core)) == []
    assert beyond(Counter(core=core + 1, mine=1)) == [
        f"core has {core + 1:,} statements; its budget in scripts/budgets.toml is {core:,}.",
        "mine has 1 statements; its budget in scripts/budgets.toml is 0.",
    ]
