"""Published files of AutoNuggetizer, TQA and SQuAD2: they survive conversion, and schemas accept them."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path

import pytest

from exam_pp.banks import entry_id
from exam_pp.phases.banks.import_bank import import_bank
from exam_pp.plugins.rare_formats.nugget_assignments import import_assignments
from exam_pp.plugins.rare_formats.nuggetizer import read_nugget_metrics, read_nuggetizer, write_nuggetizer
from exam_pp.store.banks.bank_json import read_bank
from tests.formats.test_schemas import lines, problems, validator
from tests.phases.interchange.test_nugget_exchange import read_json
from tests.plugins.rare_formats.test_exchange import write_assignments
from tests.plugins.rare_formats.test_nuggetizer import written


def test_nuggetizer_round_trip(shared_data: Path, tmp_path: Path) -> None:
    """The nuggets of TREC RAG 2024, where some importance labels are missing or unknown."""
    source, back = shared_data / "rag24" / "nuggets.jsonl", tmp_path / "nuggets.jsonl"
    banks = list(read_nuggetizer(source))
    write_nuggetizer(banks, back)
    assert [*map(json.dumps, lines(back))] == [*map(json.dumps, lines(source))], "keys in the tool's order"
    nugget = banks[0].items[0]
    assert nugget.entry_id == entry_id("2024-105741", "High WBC (15,000) may indicate illness")
    assert nugget.importance == "vital"


def test_nugget_metrics(shared_data: Path) -> None:
    """TREC RAG 2024: metrics of 301 topics survive as scores."""
    source = shared_data / "rag24" / "metrics.command-r-plus.jsonl"
    before = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    after = written(read_nugget_metrics(source))

    assert after[:-1] == before[:-1]
    assert after[-1].pop("qid") == before[-1].pop("qid")
    assert after[-1] == pytest.approx(before[-1], abs=1e-9)


@pytest.mark.parametrize("file", ["rag24/nuggets.jsonl", "importers/rag25-dev-nuggets.jsonl"])
def test_schema_of_nuggets(file: str, shared_data: Path) -> None:
    assert problems(validator("nuggets"), islice(lines(shared_data / file), 30)) == []


def test_assignments_both_ways(shared_data: Path, tmp_path: Path) -> None:
    """301 real answers survive, with unknown labels and repeated nuggets."""
    source = shared_data / "rag24" / "assignments.command-r-plus.jsonl"
    graded, bank, out = tmp_path / "g.jsonl.gz", tmp_path / "b.jsonl", tmp_path / "a.jsonl"
    summary = import_assignments([source], graded, bank_output=bank)
    write_assignments(graded, bank, out)
    before, after = read_json(source), read_json(out)

    lengths = [(line.pop("response_length"), len(line["answer_text"].split())) for line in after]
    assert all(length == count for length, count in lengths), "the length is computed again"
    old_lengths = [line.pop("response_length") for line in before]
    differing = sum(old != count for old, (_, count) in zip(old_lengths, lengths, strict=True))
    assert summary[-1] == f"Not used: response lengths that differ from the word count ({differing})."
    assert after == before
    assert [list(line) for line in after] == [list(line) for line in before]


def test_samples_of_the_collections(shared_data: Path, tmp_path: Path) -> None:
    """The counts are those of the files: 532 questions in 48 paragraphs, 289 of them unanswerable."""
    folder = shared_data / "importers"
    squad = import_bank([folder / "dev-sample.json"], tmp_path / "b.gz", "squad2")
    assert (squad.queries, squad.entries) == (48, 532)
    entries = [entry for query in read_bank(tmp_path / "b.gz") for entry in query.entries.values()]
    assert sum(entry.gold_answers == [] for entry in entries) == 289
    tqa = import_bank([folder / "tqa_L_0002_sample.json"], tmp_path / "t", "tqa")
    assert (tqa.queries, tqa.entries) == (1, 11)
    (query,) = read_bank(tmp_path / "t")
    assert query.entries["NDQ_000053"].gold_answers == ["meteorology"]
