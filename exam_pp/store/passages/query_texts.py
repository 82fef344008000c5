"""Texts of queries in passages files, where `exam-pp import` stores them."""

from __future__ import annotations

from pathlib import Path

from exam_pp.store.files import read_lines
from exam_pp.store.passages.graded_file import parse_query


def stored_query_texts(path: str | Path) -> dict[str, str]:
    """The texts of the queries in a passages file, by query id."""
    texts: dict[str, str] = {}
    for number, line in read_lines(path):
        if b'"query_text"' in line and (query := parse_query(line, str(path), number)).query_text:
            texts.setdefault(query.query_id, query.query_text)
    return texts
