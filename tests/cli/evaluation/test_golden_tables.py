"""Leaderboards in formats for programs keep their bytes; `scripts/golden_tables.py` writes the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp import provenance
from exam_pp.cli.main import main
from scripts.golden_tables import GOLDEN, TABLES, VERSION, command, make_inputs


@pytest.mark.parametrize("name", TABLES)
def test_golden_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "VERSION", VERSION)
    make_inputs(Path())
    for form in TABLES[name][1]:
        output = Path(f"{name}.{form}")
        main(command(name, form, output))
        assert output.read_bytes() == (GOLDEN / output).read_bytes(), form


def test_every_golden_table_has_a_test() -> None:
    files = {f"{name}.{form}" for name, (_, forms) in TABLES.items() for form in forms}
    assert {path.name for path in GOLDEN.iterdir()} == files
