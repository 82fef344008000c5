"""Export of banks to other tools, with counts of dropped fields."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import SelectionError
from exam_pp.phases.banks.compare import differences
from exam_pp.phases.interchange.export_bank import ExportFormat, export_bank
from exam_pp.phases.interchange.import_bank import import_texts
from exam_pp.store.banks.bank_json import read_bank


@pytest.mark.parametrize(
    ("form", "lost"),
    [
        ("csv", ""),
        ("nuggetizer", ", test collections (10)"),
        ("autojudge", ""),
    ],
)
def test_dropped_fields_are_counted(form: ExportFormat, lost: str, demo_data: Path, tmp_path: Path) -> None:
    """The demo's nuggets of one query have three facets."""
    summary = export_bank(demo_data / "nuggets.jsonl", form, tmp_path / "out")
    facets = "" if form == "csv" else "entry ids (12), facet texts (3), facets (3), "
    dropped = f"Dropped fields, which the target format cannot hold: {facets}info of queries (10){lost}."
    assert summary == ["Wrote 8 queries, 82 entries.", dropped]
    import_texts(form, [tmp_path / "out"], tmp_path / "back.jsonl")
    old, new = read_bank(demo_data / "nuggets.jsonl"), read_bank(tmp_path / "back.jsonl")
    changed = {d.query_id for d in differences(old, new)}
    assert changed == (set() if form == "csv" else {"d07"})


def test_nuggetizer_cannot_hold_questions(demo_data: Path, tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match=r"AutoNuggetizer .*questions"):
        export_bank(demo_data / "questions.jsonl", "nuggetizer", tmp_path / "out")
    assert not (tmp_path / "out").exists()
