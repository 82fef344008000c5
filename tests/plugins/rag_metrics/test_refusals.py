"""Calls that are refused: the table is refusals.json, as that of tests/cli."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_refusals import folder
from tests.cli.test_refusals import test_refused as check

__all__ = ["folder"]

ROWS = json.loads(Path(__file__).with_name("refusals.json").read_text("utf-8"))


@pytest.mark.parametrize(("call", "code", "message"), ROWS, ids=[row[0] for row in ROWS])
def test_refused(
    call: str, code: int, message: str, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    check(call, code, message, folder, monkeypatch, capfd)
