"""JSON Schemas: they accept the existing files and reject values that the readers reject."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from exam_pp.phases.interchange.schemas import json_schema


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json_schema(name)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def lines(path: Path) -> Iterator[Any]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()
    yield from map(json.loads, [text] if path.suffix == ".json" else text.splitlines())


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
    ("leaderboard", "official_leaderboard.json"),
]


@pytest.mark.parametrize(("name", "file"), DEMO)
def test_demo_data(name: str, file: str, demo_data: Path) -> None:
    assert problems(validator(name), lines(demo_data / file)) == []


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
        ("autojudge-bank", {"query_id": "q"}),
    ],
)
def test_invalid_values(name: str, value: Any) -> None:
    assert not validator(name).is_valid(value)
