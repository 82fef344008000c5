"""Files that other tools and tracks published: they survive conversion, and schemas accept them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import entry_id
from exam_pp.formats.nuggetizer import read_nugget_metrics, read_nuggetizer, write_nuggetizer
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from tests.formats.test_nuggetizer import written
from tests.formats.test_schemas import lines, problems, validator


def test_results_of_ragelo_survive_a_round_trip(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "ragelo"
    conversions = {
        "reasonings": ("ragelo-reasonings", "graded"),
        "pairwise_answers_evaluations": ("ragelo-games", "games"),
        "agents_ranking": ("ragelo-ranking", "scores-jsonl"),
    }
    for name, (form, other) in conversions.items():
        source, there, back = folder / f"{name}.csv", tmp_path / name, tmp_path / f"{name}.csv"
        assert not convert(Conversion(source, there, other, form))
        assert not convert(Conversion(there, back, form))
        assert back.read_text() == source.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    grades = [
        (passage.passage_id, next(passage.grade_sets()).entry_ratings())
        for query in read_passages(tmp_path / "reasonings")
        for passage in query.passages
    ]
    assert grades == [("0", {"direct": 2}), ("1", {"direct": 1}), ("2", {"direct": 2}), ("3", {"direct": 0})]


def test_nuggetizer_round_trip(shared_data: Path, tmp_path: Path) -> None:
    """The nuggets of TREC RAG 2024, where some importance labels are missing or unknown."""
    source, back = shared_data / "rag24" / "nuggets.jsonl", tmp_path / "nuggets.jsonl"
    banks = list(read_nuggetizer(source))
    write_nuggetizer(banks, back)
    assert [*map(json.dumps, lines(back))] == [*map(json.dumps, lines(source))], "keys in the tool's order"
    nugget = banks[0].items[0]
    assert nugget.entry_id == entry_id("2024-105741", "High WBC (15,000) may indicate illness")
    assert nugget.importance == "vital"


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


def test_nugget_metrics(shared_data: Path) -> None:
    """TREC RAG 2024: metrics of 301 topics survive as scores."""
    source = shared_data / "rag24" / "metrics.command-r-plus.jsonl"
    before = [json.loads(line) for line in source.read_text("utf-8").splitlines()]
    after = written(read_nugget_metrics(source))

    assert after[:-1] == before[:-1]
    assert after[-1].pop("qid") == before[-1].pop("qid")
    assert after[-1] == pytest.approx(before[-1], abs=1e-9)


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
def test_schemas(name: str, file: str, shared_data: Path) -> None:
    first_lines: Iterable[Any] = islice(lines(shared_data / file), 30)
    if name == "graded":  # every passage has the same shape: a few of each query are enough, and quick
        first_lines = ([query_id, passages[:3]] for query_id, passages in first_lines)
    assert problems(validator(name), first_lines) == []
