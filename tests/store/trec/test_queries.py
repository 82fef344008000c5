"""Reading queries in three formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import DataError
from exam_pp.store.trec.queries import read_queries


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
        '{"request_id": "007", "title": "first", "background": "x"}\n{"topic_id": "q2", "title": "second"}\n',
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
    ("content", "message"),
    [
        ("", "has no queries."),
        ("q1 no tab\n", "line 1: has no tab between query id and text."),
        ("q1\ta\nq1\tb\n", "line 2: the query id 'q1' occurs twice."),
        ("q1\t\n", "line 1: has no tab between query id and text."),
        ('{"q1": "a", "q1": "b"}', "the query id 'q1' occurs twice."),
        ('{"q1": null, "q1": "b"}', "is not a JSON object that maps query ids to query texts."),
        ('{"": "a"}', "has a query without an id."),
        ('{"q1": "  "}', "the query 'q1' has no text."),
        ('{"q1": 3}', "is not a JSON object that maps query ids to query texts."),
        ('{"q1": "a"', "is not valid JSON"),
        ('{"query_id": "q1"}\n', "line 1, query_text: is missing."),
        (
            '{"number": "q1", "text": "a"}\n{"number": "q2", "text": "b"}\n',
            "line 1: has no query id (query_id, qid,",
        ),
        ('{"_id": "q1", "text": "a"}\n{"_id": "q2"}\n', "line 2, query_text: is missing."),
        ('{"_id": "q1", "text": "a"}\n[1]\n', "line 2"),
    ],
)
def test_broken_files(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "queries"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_queries(path)
    assert str(caught.value).startswith(str(path))
    assert message in str(caught.value)
