"""JSON Schemas: they accept the existing files and reject values that the readers reject."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.formats.test_schemas import lines, problems, validator

SHARED = [
    ("graded", "llmjudge-dev/flan-t5-large-graded.jsonl.gz"),
    ("graded", "dl19-gpt4/dl19-graded.jsonl.gz"),
    ("bank", "dl19-gpt4/dl19-gpt4-questions.jsonl.gz"),
    ("bank", "dl20/dl20-nuggets.jsonl.gz"),
    ("bank", "dl20/dl20-questions.jsonl.gz"),
    ("answers", "rag24/answers.command-r-plus.jsonl"),
    ("answers", "importers/autojudge-kiddie/runs/repgen/run1.jsonl"),
    ("nuggets", "rag24/nuggets.jsonl"),
    ("nuggets", "importers/rag25-dev-nuggets.jsonl"),
    ("leaderboard", "dl20/official_DL20_Leaderboard.json"),
]


@pytest.mark.parametrize(("name", "file"), SHARED)
def test_published_data(name: str, file: str, shared_data: Path) -> None:
    path = shared_data / file
    if name == "leaderboard":  # one value on several lines
        first_lines: Iterable[Any] = [json.loads(path.read_text())]
    else:
        first_lines = islice(lines(path), 30)
    if name == "graded":  # every passage has the same shape: a few of each query are enough, and quick
        first_lines = ([query_id, passages[:3]] for query_id, passages in first_lines)
    assert problems(validator(name), first_lines) == []
