"""Reading queries in three formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.formats.base import format_of
from exam_pp.store.trec.queries import read_queries
from tests.conftest import data_error


@pytest.mark.parametrize(
    "content",
    [
        '{"007": "first", "q2": "second"}',
        '{\n  "007": "first",\n  "q2": "second"\n}\n',
        "007\tfirst\nq2\tsecond\n",
        "\ufeff007\t first\r\n\r\nq2\tsecond\r\n",
        '{"query_id": "007", "query_text": "first"}\n{"query_id": "q2", "query_text": "second"}\n',
        '{"query_id": "007", "text": "first"}\n{"query_id": "q2", "text": "second"}\n',
        '{"_id": "007", "text": "first", "metadata": {}}\n{"_id": "q2", "text": "second", "metadata": {}}\n',
        '{"qid": "007", "query": "first"}\n{"qid": "q2", "query": "second", "title": "other"}\n',
        '{"request_id": "007", "title": "first", "limit": 9}\n{"topic_id": "q2", "title": "second"}\n',
        '{"narrative_id": "007", "narrative": "first"}\n{"topic_id": "q2", "topic": "second"}\n',
    ],
    ids=[
        "json", "json on lines", "tsv", "tsv with BOM and CRLF", "jsonl", "ir_datasets", "BEIR", "Pyserini",
        "RAGTIME", "TREC RAG",
    ],
)  # fmt: skip
def test_shapes(tmp_path: Path, content: str) -> None:
    path = tmp_path / "queries"
    path.write_text(content, encoding="utf-8", newline="")
    queries = read_queries(path)
    assert {key: query.query_text for key, query in queries.items()} == {"007": "first", "q2": "second"}


def test_a_single_json_line_with_other_key_names(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"_id": "007", "text": "first"}\n')
    assert {key: query.query_text for key, query in read_queries(path).items()} == {"007": "first"}


def test_facets(demo_data: Path) -> None:
    queries = read_queries(demo_data / "queries.jsonl")
    assert "007" in queries
    assert [facet.facet_id for facet in queries["d07"].facets or []] == ["colony", "dance", "threats"]


@pytest.mark.parametrize(
    ("content", "line", "field", "about"),
    [
        ("", None, None, "no queries"),
        ("q1 no tab\n", 1, None, "tab"),
        ("q1\ta\nq1\tb\n", 2, None, "'q1'"),
        ("q1\t\n", 1, None, "tab"),
        ('{"q1": "a", "q1": "b"}', None, None, "'q1' occurs twice"),
        ('{"q1": null, "q1": "b"}', None, None, "object"),
        ('{"": "a"}', None, None, "without an id"),
        ('{"q1": "  "}', None, None, "'q1' has no text"),
        ('{"q1": 3}', None, None, "object"),
        ('{"q1": "a"', None, None, "valid JSON"),
        ('{"query_id": "q1"}\n', 1, "query_text", "missing"),
        ('{"number": "q1", "text": "a"}\n{"number": "q2", "text": "b"}\n', 1, None, "(query_id, qid,"),
        ('{"_id": "q1", "text": "a"}\n{"_id": "q2"}\n', 2, "query_text", "missing"),
        ('{"_id": "q1", "text": "a"}\n[1]\n', 2, None, ""),
    ],
)
def test_broken_files(tmp_path: Path, content: str, line: int | None, field: str | None, about: str) -> None:
    path = tmp_path / "queries"
    path.write_text(content, encoding="utf-8")
    with data_error(path, line, field, about=about):
        read_queries(path)


def test_queries_of_beir(tmp_path: Path) -> None:
    path = tmp_path / "queries.jsonl"
    path.write_text('{"_id": "1", "text": "about bees", "metadata": {}}\n{"_id": "2", "text": "b"}\n')
    assert format_of(path).name == "queries-jsonl"
    assert {key: query.query_text for key, query in read_queries(path).items()} == {
        "1": "about bees",
        "2": "b",
    }
    path.write_text('{"_id": "1", "title": "Bees", "text": "A document.", "metadata": {}}\n')
    assert format_of(path).name == "texts"
