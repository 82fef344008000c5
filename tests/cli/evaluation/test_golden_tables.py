"""Leaderboards in formats for programs keep their bytes; `scripts/golden_tables.py` writes the files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp import provenance
from exam_pp.cli.main import main
from exam_pp.plugins import offered
from scripts.golden_tables import GOLDEN, TABLES, VERSION, command, make_inputs


@pytest.mark.parametrize("name", TABLES)
def test_golden_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "VERSION", VERSION)
    make_inputs(Path())
    has_nuggetizer = bool(offered("texts of leaderboards"))
    for form in TABLES[name][1] if has_nuggetizer else set(TABLES[name][1]) - {"nuggetizer"}:
        output = Path(f"{name}.{form}")
        main(command(name, form, output))
        assert _shown(output) == _shown(GOLDEN / output), form


def _shown(path: Path) -> bytes | str:
    """The bytes of a file; of JSON all but the last digits, which differ between processors."""
    if path.suffix != ".json":
        return path.read_bytes()
    values = json.loads(path.read_bytes(), parse_float=lambda number: f"{float(number):.12g}")
    return json.dumps(values, indent=1)
