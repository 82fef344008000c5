"""TREC topics and data sets of ir_datasets as queries."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import DataError, MissingExtraError
from exam_pp.store.tables import columns_named
from exam_pp.store.trec.queries import parse_topics, read_queries
from tests.conftest import data_error

OLD = """<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations.
</top>

<top>
<num> Number: 302 </num>
<title> Topic: Poliomyelitis &amp; Post-Polio
</title>
</top>
"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<topics task="x">
  <topic number="301">
    <query>International Organized Crime</query>
  </topic>
  <topic number='302'><title>Poliomyelitis &amp; Post-Polio</title></topic>
</topics>
"""


@pytest.mark.parametrize("content", [OLD, XML], ids=["old", "xml"])
def test_topics(tmp_path: Path, content: str) -> None:
    path = tmp_path / "topics"
    path.write_text(content, encoding="utf-8")
    assert {key: query.query_text for key, query in read_queries(path).items()} == {
        "301": "International Organized Crime",
        "302": "Poliomyelitis & Post-Polio",
    }


LEFT_OUT = (
    "{}: the text of a query is its title, without {}; --columns query_text=title+{} reads all of them."
)
IGNORED = "{}: ignored the columns {}; --columns gives columns a meaning."
AD_HOC = [
    (
        "<top>\n<num> Number: 1\n<title> rust\n\n<desc> Description:\nWhat\nrusts?\n\n<narr> Narrative:\n"
        "Iron is relevant.\n</top>",
        ("desc", "narr"), LEFT_OUT,
    ),
    (
        '<topics><topic number="1"><title>rust</title><description>What rusts?</description>'
        "<narrative>Iron is relevant.</narrative></topic></topics>",
        ("description", "narrative"), LEFT_OUT,
    ),
    (
        '{"id": 1, "title": "rust", "description": "What rusts?", "narrative": "Iron is relevant."}\n',
        ("description", "narrative"), LEFT_OUT,
    ),
    ("id,title,desc,narr\n1,rust,What rusts?,Iron is relevant.\n", ("desc", "narr"), IGNORED),
]  # fmt: skip


@pytest.mark.parametrize(("content", "others", "message"), AD_HOC, ids=["old", "xml", "jsonl", "csv"])
def test_the_title_is_the_query_of_ad_hoc_topics(
    content: str, others: tuple[str, str], message: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line names what is left out, and ``--columns`` reads it."""
    path = tmp_path / "topics"
    path.write_text(content, encoding="utf-8")
    assert read_queries(path)["1"].query_text == "rust"
    listed = ", ".join(others if message == LEFT_OUT else map(repr, others))
    assert caplog.messages == [message.format(path, listed, "+".join(others))]
    caplog.clear()
    with columns_named({"query_text": "+".join(("title", *others))}):
        assert read_queries(path)["1"].query_text == "rust What rusts? Iron is relevant."
    assert not caplog.messages
    with columns_named({"query_text": others[0]}):
        assert read_queries(path)["1"].query_text == "What rusts?"


@pytest.mark.parametrize(
    "content",
    [
        '{"request_id": 1, "title": "Rust", "problem_statement": "A report.", "background": "Ships."}\n',
        '[{"topic_id": "1", "background": "Ships.", "problem_statement": "A report.", "title": "Rust"}]\n',
        "topic_id\ttitle\tproblem_statement\tbackground\n1\tRust\tA report.\tShips.\n",
        "Topic ID;Title;Problem Statement;Background\n1;Rust;A report.;Ships.\n",
        '<topics><topic id="1"><title>Rust</title><problem_statement>A report.</problem_statement>'
        "<background>Ships.</background></topic></topics>",
    ],
    ids=["jsonl", "array", "tsv", "csv", "xml"],
)
def test_requests_are_read_as_a_whole(content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "topics"
    path.write_text(content, encoding="utf-8")
    assert read_queries(path)["1"].query_text == "Rust A report. Ships."
    assert not caplog.messages


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        ({"problem_statement": "A report.", "background": "Ships."}, "A report. Ships."),
        ({"title": None, "problem_statement": "A report.", "background": ""}, "A report."),
        ({"title": "Rust", "background": "Ships."}, "Rust Ships."),
        ({"query": "rust", "problem_statement": "A report."}, "rust"),
    ],
)
def test_requests_with_some_of_the_texts(request_: dict[str, Any], text: str, tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    path.write_text(json.dumps({"request_id": "300", "limit": 2000} | request_) + "\n")
    assert read_queries(path)["300"].query_text == text


class TitledQuery(NamedTuple):
    query_id: str
    title: str
    description: str


@given(
    st.lists(st.sampled_from(["<top>", "</top>", "<TOPIC>", "</topic>", "</Topic>", "<num>7<title>a", "x"]))
)
def test_topics_end_at_the_next_end_tag(parts: list[str]) -> None:
    """The same topics as by a regular expression, which needs quadratic time for start tags without end."""
    text = "<topic><num>1<title>first</topic>" + "".join(parts)
    bodies = [match[2] for match in re.finditer(r"<(top|topic)>(.*?)</\1>", text, re.IGNORECASE)]
    if all("<num>" in body for body in bodies):
        assert len(parse_topics(text, "topics")) == len(bodies)
    else:
        with pytest.raises(DataError, match="has no number"):
            parse_topics(text, "topics")


def test_many_topics_without_end(tmp_path: Path) -> None:
    path = tmp_path / "topics"
    path.write_text("<top>\n<num> 1\n" * 100_000)
    with data_error(path, about="has no <top> or <topic> elements"):
        read_queries(path)


class Patient(NamedTuple):
    query_id: str
    disease: str
    gene: str


@pytest.mark.parametrize(
    ("query", "text"),
    [(TitledQuery("1", "Crime", "..."), "Crime"), (Patient("1", "melanoma", "BRAF"), "melanoma BRAF")],
)
def test_ir_datasets(query: NamedTuple, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The title, or all fields of a collection without one."""
    data = {"robust04": SimpleNamespace(queries_iter=lambda: iter([query]))}
    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load=data.__getitem__))
    assert read_queries("irds:robust04")["1"].query_text == text
    with data_error("irds:robust05", about="ir_datasets"):
        read_queries("irds:robust05")


def test_ir_datasets_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[irds\]'"):
        read_queries("irds:robust04")
