"""JSON Schemas: they accept the existing files and reject values that the readers reject."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from exam_pp.cli.main import cli
from exam_pp.phases.interchange.schemas import json_schema


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def lines(path: Path) -> Iterator[Any]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    yield from map(json.loads, text.splitlines())


def problems(check: jsonschema.Draft202012Validator, values: Iterable[Any]) -> list[str]:
    """The errors of the values, of which there is at least one."""
    instances = list(values)
    assert instances
    return [error.message for value in instances for error in check.iter_errors(value)]


DEMO = [
    ("bank", "questions.jsonl"),
    ("bank", "nuggets.jsonl"),
    ("queries", "queries.jsonl"),
    ("answers", "answers/gen-long.jsonl"),
    ("answers", "answers/gen-short.jsonl"),
]
SHARED = [
    pytest.param("graded", "llmjudge-dev/flan-t5-large-graded.jsonl.gz", marks=pytest.mark.integration),
    ("graded", "dl19-gpt4/dl19-graded.jsonl.gz"),
    ("bank", "dl19-gpt4/dl19-gpt4-questions.jsonl.gz"),
    ("bank", "dl20/dl20-nuggets.jsonl.gz"),
    ("bank", "dl20/dl20-questions.jsonl.gz"),
    ("answers", "rag24/answers.command-r-plus.jsonl"),
    ("answers", "importers/autojudge-kiddie/runs/repgen/run1.jsonl"),
    ("nuggets", "rag24/nuggets.jsonl"),
    ("nuggets", "importers/rag25-dev-nuggets.jsonl"),
]


@pytest.mark.parametrize(("name", "file"), DEMO)
def test_demo_data(name: str, file: str, demo_data: Path) -> None:
    assert problems(validator(name), lines(demo_data / file)) == []


@pytest.mark.parametrize(("name", "file"), SHARED)
def test_published_data(name: str, file: str, shared_data: Path) -> None:
    first_lines: Iterable[Any] = islice(lines(shared_data / file), 30)
    if name == "graded":  # every passage has the same shape: a few of each query are enough, and quick
        first_lines = ([query_id, passages[:3]] for query_id, passages in first_lines)
    assert problems(validator(name), first_lines) == []


@pytest.mark.parametrize("file", ["demo", "dl20"])
def test_official_leaderboards(file: str, request: pytest.FixtureRequest) -> None:
    if file == "demo":
        path = request.getfixturevalue("demo_data") / "official_leaderboard.json"
    else:
        path = request.getfixturevalue("shared_data") / "dl20" / "official_DL20_Leaderboard.json"
    assert problems(validator("leaderboard"), [json.loads(path.read_text())]) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("graded", ["q", [{"text": "no id"}]]),
        ("graded", ["q", [{"paragraph_id": "p", "text": 3}]]),
        ("graded", ["q", [], "more"]),
        ("graded", {"q": []}),
        ("graded", ["q", [{"paragraph_id": "p", "text": "", "exam_grades": [{"correctAnswered": []}]}]]),
        ("bank", {"query_id": "q"}),
        ("bank", {"query_id": "q", "items": [{"query_id": "q", "question_text": "no id"}]}),
        ("edits", {"format": "another"}),
        ("edits", {"format": "exam_pp.edits.v1", "ratings": [{"query_id": "q"}]}),
        ("queries", {"query_id": "q"}),
        ("leaderboard", {"system": "first"}),
        ("scores", {"system": "s", "query_id": "q", "metric": "m"}),
        ("answers", {"metadata": {"run_id": "r"}, "answer": []}),
        ("answers", {"metadata": {"run_id": "r", "topic_id": "q"}}),
        ("nuggets", {"qid": "q", "nuggets": [{"text": ""}]}),
        ("autojudge-bank", {"query_id": "q"}),
    ],
)
def test_invalid_values(name: str, value: Any) -> None:
    assert not validator(name).is_valid(value)


def test_unknown_names_get_a_suggestion() -> None:
    result = CliRunner().invoke(cli, ["show", "schema", "grades"])
    assert "graded" in str(result.exception)
