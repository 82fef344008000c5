"""Records in JSON lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import BankLine
from exam_pp.errors import DataError
from exam_pp.store.parsing import write_records


def test_a_value_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    """An imported bank may keep such a value of another tool in ``info``."""
    deep: Any = 1
    for _ in range(400):
        deep = {"a": deep}
    lines = [
        BankLine(query_id="q1", test_collection="c", query_text="a query", items=[], info=info)
        for info in ({}, {"kept": deep})
    ]
    path = tmp_path / "bank.jsonl"
    with pytest.raises(DataError, match="nested too deeply") as error:
        write_records(lines, path)
    assert error.value.line == 2
    assert list(tmp_path.iterdir()) == []
