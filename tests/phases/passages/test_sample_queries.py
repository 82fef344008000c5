"""Stratified samples of queries by a field."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.phases.passages.sample import Strata, draw_queries, parse_strata
from exam_pp.store.trec.queries import Query, read_queries

WriteLines = Callable[[str, list[Any]], Path]
PAPER = {"gpt-4-turbo": 100, "opus": 50, "sonnet": 30, "haiku": 20}


def generated(number: int, model: str) -> dict[str, Any]:
    return {
        "query_id": f"q{number}",
        "query_text": f"What is {number}?",
        "model": model,
        "prompt_info": {"a": 1},
    }


@pytest.fixture
def pooled(write_jsonl: WriteLines) -> Path:
    """840 queries of four models, 210 each, as many as in the RAGElo paper."""
    return write_jsonl("pooled.jsonl", [generated(n, list(PAPER)[n % 4]) for n in range(840)])


def sampled(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_sample_of_the_paper(pooled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Section 4 of the RAGElo paper: 200 of 840 queries; 100 GPT-4, 50 Opus, 30 Sonnet and 20 Haiku."""
    output = tmp_path / "sample.jsonl"
    by = "model=" + ",".join(f"{model}:{size}" for model, size in PAPER.items())
    main(["sample", str(pooled), "--by", by, "-o", str(output)])
    lines = sampled(output)
    assert Counter(line["model"] for line in lines) == PAPER
    everything = sampled(pooled)
    assert lines == [
        line for line in everything if line in lines
    ]  # in the order of the file, with all fields
    assert len(read_queries(output)) == 200
    assert (
        "200 queries of 840 (model: 100 of gpt-4-turbo, 50 of opus, 30 of sonnet, 20 of haiku)."
        in capsys.readouterr().err
    )


def test_a_sample_depends_on_seed_and_ids_only() -> None:
    queries = [Query.model_validate(generated(number, "ab"[number % 2])) for number in range(40)]

    def ids(order: list[Query], seed: int, **sizes: int) -> set[str]:
        return {query.query_id for query in draw_queries(order, Strata("model", sizes), seed)}

    assert ids(queries, 3, a=5, b=4) == ids(queries[::-1], 3, a=5, b=4) != ids(queries, 4, a=5, b=4)
    assert ids(queries, 3, a=5) < ids(queries, 3, a=9)
    assert ids(queries, 3, a=5, b=4) == ids(queries, 3, a=5) | ids(queries, 3, b=4)


def test_strata() -> None:
    assert parse_strata("model=org/qwen2:7b:100, opus:5") == ("model", {"org/qwen2:7b": 100, "opus": 5})
    queries = [
        Query.model_validate({"query_id": key, "query_text": "t", "hard": key == "q1"})
        for key in ("q1", "q2")
    ]
    assert [query.query_id for query in draw_queries(queries, parse_strata("hard=true:1"))] == ["q1"]
