"""Import and export of banks in other formats: ids as published, complete round trips, one-line errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import entry_id
from exam_pp.cli.interchange.convert import convert
from exam_pp.formats.nuggetizer import read_nuggetizer, write_nuggetizer
from exam_pp.phases.interchange.bridges import Conversion
from exam_pp.store.banks.bank_json import read_bank
from tests.formats.test_bank_files import run


def test_nuggetizer_round_trip(shared_data: Path, tmp_path: Path) -> None:
    """The nuggets of TREC RAG 2024, where some importance labels are missing or unknown."""
    source, written = shared_data / "rag24" / "nuggets.jsonl", tmp_path / "nuggets.jsonl"
    lines = list(read_nuggetizer(source))
    write_nuggetizer(lines, written)

    def objects(path: Path) -> list[Any]:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    assert objects(written) == objects(source)
    assert list(objects(written)[0]) == list(objects(source)[0]), "the tool's own order of keys"
    nugget = lines[0].items[0]
    assert nugget.entry_id == entry_id("2024-105741", "High WBC (15,000) may indicate illness")
    assert nugget.importance == "vital"


def test_nuggets_without_query_texts(shared_data: Path, tmp_path: Path) -> None:
    run(
        "import", shared_data / "importers" / "rag25-dev-nuggets.jsonl", "--from", "nuggetizer",
        "-o", tmp_path / "bank.jsonl",
    )  # fmt: skip
    first = read_bank(tmp_path / "bank.jsonl").lines[0]
    assert first.query_id == "58"
    assert first.items[0].model_extra == {
        "mapped_sub_narrative": '"Key advantages of nuclear energy"', "source": "original",
    }  # fmt: skip


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
