"""``exam-pp validate``: every check reports a broken file with its line, and valid files have no findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.phases.validation.validate import validate


@pytest.mark.parametrize("name", ["llmjudge-dev/flan-t5-large-graded.jsonl.gz", "dl20", "dl19-gpt4/runs"])
def test_published_data(name: str, shared_data: Path) -> None:
    path = shared_data / name
    files = [path] if path.is_file() or name.endswith("runs") else list(path.iterdir())
    findings = validate(files, limit=5)
    assert findings.number("error") == 0
