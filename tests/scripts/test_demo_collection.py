"""Consistency of the demo collection (data/demo)."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from exam_pp.metrics.agreement import weighted_kappa
from exam_pp.store.trec.runs import read_qrels
from scripts.make_demo_runs import make

Grades = dict[tuple[str, str], int]


def json_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def queries(demo_data: Path) -> dict[str, dict[str, Any]]:
    return {row["query_id"]: row for row in json_lines(demo_data / "queries.jsonl")}


@pytest.fixture(scope="module")
def passages(demo_data: Path) -> dict[str, str]:
    lines = (demo_data / "passages.tsv").read_text("utf-8").splitlines()
    rows = [(line.split("\t")[0], line.split("\t")[1]) for line in lines]
    assert len(dict(rows)) == len(rows) == 401
    return dict(rows)


def judgments(demo_data: Path, name: str) -> Grades:
    return {(q.query_id, q.passage_id): q.whole for q in read_qrels(demo_data / name)}


@pytest.fixture(scope="module")
def official(demo_data: Path) -> Grades:
    return judgments(demo_data, "qrels.txt")


def test_both_assessors_judged_every_passage_for_its_query(
    demo_data: Path, queries: dict[str, Any], passages: dict[str, str], official: Grades
) -> None:
    second = judgments(demo_data, "qrels-assessor-b.txt")
    own_query = {(passage_id.rpartition("-p")[0], passage_id) for passage_id in passages}
    assert official.keys() == second.keys() == own_query
    for query_id in queries:
        grades = {grade for (query, _), grade in official.items() if query == query_id}
        assert grades == {0, 1, 2, 3}
    pairs = [(grade, second[pair]) for pair, grade in official.items()]
    kappa = weighted_kappa([a for a, _ in pairs], [b for _, b in pairs])
    assert kappa is not None
    assert f"{sum(a == b for a, b in pairs) / len(pairs):.0%} and {kappa:.2f}" == "83% and 0.94"  # README


@pytest.mark.parametrize("kind", ["question", "nugget"])
def test_banks(
    kind: str, demo_data: Path, queries: dict[str, Any], passages: dict[str, str], official: Grades
) -> None:
    per_query: Counter[str] = Counter()
    for row in json_lines(demo_data / f"{kind}s.jsonl"):
        assert row["query_text"] == queries[row["query_id"]]["query_text"]
        for item in row["items"]:
            text = item[f"{kind}_text"]
            hashed = hashlib.md5(text.strip().encode(), usedforsecurity=False).hexdigest()
            place = [row["query_id"], *([row["facet_id"]] if "facet_id" in row else []), hashed]
            assert item[f"{kind}_id"] == "/".join(place)
            per_query[row["query_id"]] += 1
            relevant = [
                passages[p].lower()
                for (q, p), grade in official.items()
                if q == row["query_id"] and grade >= 2
            ]
            for answer in item.get("gold_answers", ()):
                whole = rf"(?<!\w){re.escape(answer.lower())}(?!\w)"
                assert any(re.search(whole, passage) for passage in relevant), answer
    assert per_query.keys() == queries.keys()
    assert all(8 <= entries <= 13 for entries in per_query.values())


@pytest.mark.parametrize("name", ["gen-long", "gen-short"])
def test_answers_cite_their_references(
    name: str, demo_data: Path, queries: dict[str, Any], official: Grades
) -> None:
    rows = json_lines(demo_data / "answers" / f"{name}.jsonl")
    assert sorted(row["topic_id"] for row in rows) == sorted(queries)
    for row in rows:
        assert row["run_id"] == name
        assert row["topic"] == queries[row["topic_id"]]["query_text"]
        assert all(official[row["topic_id"], reference] >= 2 for reference in row["references"])
        assert all(sentence["citations"] for sentence in row["answer"])
        cited = {index for sentence in row["answer"] for index in sentence["citations"]}
        assert cited == set(range(len(row["references"])))
        assert row["response_length"] == sum(len(part["text"].split()) for part in row["answer"])


def test_runs_and_official_ranks_are_those_of_the_script(demo_data: Path) -> None:
    files, _ = make(demo_data)
    assert {name: (demo_data / name).read_text("utf-8") for name in files} == files
