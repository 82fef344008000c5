"""Broken input: the table is broken_files.json, as those of tests/broken_files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_broken_files import test_broken_file as check

CASES = json.loads(Path(__file__).with_name("broken_files.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_broken_file(case: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(case, tmp_path, capsys)
