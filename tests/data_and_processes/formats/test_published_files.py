"""Files that other tools and tracks published: they survive conversion, and schemas accept them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import entry_id
from exam_pp.formats.base import format_of
from exam_pp.formats.nuggetizer import read_nugget_metrics, read_nuggetizer, write_nuggetizer
from exam_pp.formats.open_rag_eval import GENERATIONS, generations_of
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.tables import read_cells
from exam_pp.store.trec.answers import read_answers
from tests.formats.test_nuggetizer import written
from tests.formats.test_schemas import lines, problems, validator


def test_the_connector_file_of_open_rag_eval(shared_data: Path, tmp_path: Path) -> None:
    """As in the tests of its own loader: six queries, one with two runs; query_1 has no passage 4."""
    source = shared_data / "open-rag-eval" / "test_csv_connector.csv"
    assert format_of(source).name == "open-rag-eval"
    convert(Conversion(source, tmp_path / "a.jsonl", "rag24"))
    answers = list(read_answers(tmp_path / "a.jsonl"))
    assert [(a.system, a.repeat, a.query_id) for a in answers] == [
        *(("test_csv_connector", 1, f"query_{n}") for n in range(1, 7)),
        ("test_csv_connector", 2, "query_6"),
    ]
    first = f"{answers[0].system}/query_1"
    assert [(part.text, part.citations) for part in answers[0].parts] == [
        ("Black holes are dense", (f"{first}[1]",)),
        ("They are also big and round", (f"{first}[2]", f"{first}[3]")),
        ("My name is x", (f"{first}[4]",)),
    ]
    assert len(answers[4].parts[-1].citations) == 5
    dropped = convert(Conversion(source, tmp_path / "p.jsonl", "graded", "open-rag-eval-passages"))
    assert dropped.counts == {"answers": 7, "query texts": 7}
    passages = {p.passage_id: p for query in read_passages(tmp_path / "p.jsonl") for p in query.passages}
    assert len(passages) == 15, "the runs of query_6 share a passage"
    assert passages[f"{first}[2]"].text == "Blackholes are dense."
    assert [(r.rank, r.score) for r in passages[f"{first}[2]"].rankings] == [(2, 2.0)]
    back = Conversion(
        tmp_path / "a.jsonl", tmp_path / "b.csv", "open-rag-eval", contexts=tmp_path / "p.jsonl"
    )
    assert convert(back).counts["document texts missing from --passages"] == 1
    before, after = (
        {(g.query_id, g.run): [*g.passages.values()] for g in generations_of(read_cells(p, GENERATIONS), p)}
        for p in (source, tmp_path / "b.csv")
    )
    before["query_1", "1"].append("")
    assert after == before


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
