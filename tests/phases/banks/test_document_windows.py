"""Windows over documents: length, spans, and the files that documents are read from."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.phases.banks.generate_queries import count_tokens, read_documents, windows_of
from tests.conftest import passage

WriteLines = Callable[[str, list[Any]], Path]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The sky is blue.", 5),
        ("internationalization", 3),  # eight characters at a time
        ("TLV496x-xTA/B", 5),
        ("空は青い。", 5),
        (" \n", 0),
    ],
)
def test_tokens(text: str, count: int) -> None:
    assert count_tokens(text) == count


def test_windows_end_with_sentences_and_have_about_equal_length() -> None:
    text = " ".join(f"Sentence number {number} is here." for number in range(100))  # 6 tokens each
    windows = list(windows_of("d", text, 250))
    assert [count_tokens(window.text) for window in windows] == [198, 204, 198]
    assert all(window.text.rstrip().endswith(".") for window in windows)


@given(
    st.text(st.sampled_from("ab .?\n中-"), max_size=300),
    st.integers(min_value=1, max_value=40),
)
def test_windows_cover_the_document(text: str, limit: int) -> None:
    windows = list(windows_of("d", text, limit))
    assert all(0 < count_tokens(window.text) <= limit for window in windows)
    assert all(window.text == text[window.start : window.end] for window in windows)
    if count_tokens(text):
        assert "".join(window.text for window in windows) == text
    else:
        assert windows == []


def test_a_sentence_that_is_longer_than_a_window() -> None:
    (first, second, third) = windows_of("d", "word " * 25, 10)
    assert [count_tokens(window.text) for window in (first, second, third)] == [10, 10, 5]


def test_documents_of_texts_and_of_passages(tmp_path: Path, write_jsonl: WriteLines) -> None:
    texts = {"d1": "One.", "d2": "Two."}
    (tmp_path / "texts.tsv").write_text("d1\tOne.\nd2\tTwo.\n")
    lines = write_jsonl("texts.jsonl", [{"docid": key, "contents": text} for key, text in texts.items()])
    answer = passage("d3", text="An answer.")
    answer["paragraph_data"]["rankings"] = [
        {"method": "s", "paragraphId": "d3", "queryId": "q1", "rank": 1, "score": 1.0, "role": "answer"}
    ]
    passages = [["q1", [passage("d1", text="One."), answer]], ["q2", [passage("d2", text="Two.")]]]
    packed = tmp_path / "passages.jsonl.gz"
    packed.write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in passages).encode()))
    table = tmp_path / "documents.csv"
    table.write_text("qid,did,document\nq1,d1,One.\nq2,d2,Two.\nq2,d1,One.\n")
    for path in (tmp_path / "texts.tsv", lines, packed, table):
        assert read_documents(path) == texts, path.name
