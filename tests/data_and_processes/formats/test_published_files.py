"""Files that other tools and tracks published: they survive conversion, and schemas accept them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.store.banks.bank_json import read_bank
from tests.formats.test_schemas import lines, problems, validator


@pytest.mark.parametrize("name", ["dl20/dl20-questions", "dl19-gpt4/dl19-gpt4-questions"])
def test_published_banks_keep_their_ids(shared_data: Path, tmp_path: Path, name: str) -> None:
    source = shared_data / f"{name}.jsonl.gz"
    there = convert(Conversion(source, tmp_path / "there", "bank-csv", "bank"))
    convert(Conversion(tmp_path / "there", tmp_path / "back.jsonl", "bank", "bank-csv"))
    assert "entry ids" not in there.counts
    before, after = (
        [(item.entry_id, item.text) for line in read_bank(path).lines for item in line.items]
        for path in (source, tmp_path / "back.jsonl")
    )
    assert after == before


SHARED = [
    ("graded", "llmjudge-dev/flan-t5-large-graded.jsonl.gz"),
    ("graded", "dl19-gpt4/dl19-graded.jsonl.gz"),
    ("bank", "dl19-gpt4/dl19-gpt4-questions.jsonl.gz"),
    ("bank", "dl20/dl20-nuggets.jsonl.gz"),
    ("bank", "dl20/dl20-questions.jsonl.gz"),
    ("answers", "rag24/answers.command-r-plus.jsonl"),
    ("answers", "importers/autojudge-kiddie/runs/repgen/run1.jsonl"),
    ("leaderboard", "dl20/official_DL20_Leaderboard.json"),
]


@pytest.mark.parametrize(("name", "file"), SHARED)
def test_schemas(name: str, file: str, shared_data: Path) -> None:
    first_lines: Iterable[Any] = islice(lines(shared_data / file), 30)
    if name == "graded":  # every passage has the same shape: a few of each query are enough, and quick
        first_lines = ([query_id, passages[:3]] for query_id, passages in first_lines)
    assert problems(validator(name), first_lines) == []
