"""The commands of the page on test banks work, in the order of the page."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.store.banks.bank_json import read_bank


def test_commands(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").symlink_to(repository / "data")
    monkeypatch.chdir(tmp_path)
    page = (repository / "docs" / "how-to" / "test-banks.md").read_text(encoding="utf-8").replace("\\\n", " ")
    commands = re.findall(r"^    exam-pp (.*)$", page, flags=re.MULTILINE)
    assert len(commands) >= 15
    for command in commands:
        try:
            main(shlex.split(command))
        except SystemExit as stop:
            if stop.code:
                pytest.fail(f"exam-pp {command}")
    original = read_bank("data/demo/questions.jsonl")
    assert read_bank("edited.jsonl.gz").queries == original.queries
    assert len(read_bank("both.jsonl.gz").queries) == len(original.queries)
    assert "<h1>Clinic" in Path("clinic.html").read_text(encoding="utf-8")
