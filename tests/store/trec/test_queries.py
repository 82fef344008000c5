"""Reading queries in three formats."""

from __future__ import annotations

from pathlib import Path

import pytest

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


def test_facets(demo_data: Path) -> None:
    queries = read_queries(demo_data / "queries.jsonl")
    assert "007" in queries
    assert [facet.facet_id for facet in queries["d07"].facets or []] == ["colony", "dance", "threats"]
