"""Errors of queries, topics, official ranks, judgments and output of trec_eval name line and field."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from exam_pp.store.trec.queries import read_queries
from exam_pp.store.trec.ranks import read_ranks
from exam_pp.store.trec.runs import read_qrels
from exam_pp.store.trec.scores import read_leaderboard_queries
from tests.conftest import data_error

BROKEN: list[tuple[Callable[[Path], object], str, int | None, str | None, str]] = [
    (read_queries, "", None, None, "no queries"),
    (read_queries, "q1 no tab\n", 1, None, "tab"),
    (read_queries, "q1\ta\nq1\tb\n", 2, None, "'q1'"),
    (read_queries, "q1\t\n", 1, None, "tab"),
    (read_queries, '{"q1": "a", "q1": "b"}', None, None, "'q1' occurs twice"),
    (read_queries, '{"q1": null, "q1": "b"}', None, None, "object"),
    (read_queries, '{"": "a"}', None, None, "without an id"),
    (read_queries, '{"q1": "  "}', None, None, "'q1' has no text"),
    (read_queries, '{"q1": 3}', None, None, "object"),
    (read_queries, '{"q1": "a"', None, None, "valid JSON"),
    (read_queries, '{"query_id": "q1"}\n', 1, "query_text", "missing"),
    (
        read_queries,
        '{"number": "q1", "text": "a"}\n{"number": "q2", "text": "b"}\n',
        1,
        None,
        "(query_id, qid,",
    ),
    (read_queries, '{"_id": "q1", "text": "a"}\n{"_id": "q2"}\n', 2, "query_text", "missing"),
    (read_queries, '{"_id": "q1", "text": "a"}\n[1]\n', 2, None, ""),
    (read_queries, "<html></html>", None, None, "<topic>"),
    (read_queries, "<top><title>a</top>", None, None, "number"),
    (read_queries, "<top><num>1</top>", None, None, "text"),
    (read_queries, "<top><num>1<title>a</top><top><num>1<title>b</top>", None, None, "twice"),
    (read_ranks, "", None, None, "no systems"),
    (read_ranks, "system\trank\n", None, None, "no systems"),
    (read_ranks, '{"a": "first"}', None, "a", "'first'"),
    (read_ranks, '{"a": true}', None, "a", "True"),
    (read_ranks, '{"a": NaN}', None, "a", "nan"),
    (read_ranks, '{"a": 1', None, None, "JSON"),
    (read_ranks, '{"a": 1, "b": 2, "a": 3}', None, None, "'a'"),
    (read_ranks, "a\t1\nb\n", 2, None, "column"),
    (read_ranks, "a\t1\nb\tsecond\n", 2, "rank", "'second'"),
    (read_ranks, "a\t1\nb\tinf\n", 2, "rank", "'inf'"),
    (read_ranks, "a\t1\na\t2\n", 2, None, "'a'"),
    (read_qrels, "q 0 d\n", 1, None, "3 columns"),
    (read_qrels, "q 0 d 1,5\n", 1, "grade", "'1,5'"),
    (read_qrels, "q 0 d 1\nq 0 d 2\n", 2, None, "'d' has two grades for the query 'q'"),
    (read_qrels, "q 0 d 1\n\x1c\n", 2, None, "0 columns"),
    (read_qrels, "\x1c\n", 1, None, "0 columns"),
    (read_qrels, "", None, None, "no judgments"),
    (read_leaderboard_queries, "map\tq0\t0.5\nmap\tq2\t0.5\nmap\tq1\n", 3, None, "value"),
    (read_leaderboard_queries, "map\tq0\t0.5\nmap\tq2\t0.5\nmap\tq1\tnan\n", 3, "value", "'nan'"),
]


@pytest.mark.parametrize(("read", "content", "line", "field", "about"), BROKEN)
def test_broken_files(
    read: Callable[[Path], object], content: str, line: int | None, field: str | None, about: str
) -> None:
    path = Path("file")
    path.write_text(content, encoding="utf-8")
    with data_error(path, line, field, about=about):
        read(path)
