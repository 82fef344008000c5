"""TREC topics and data sets of ir_datasets as queries."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import DataError, MissingExtraError
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


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("<html></html>", "<topic>"),
        ("<top><title>a</top>", "number"),
        ("<top><num>1</top>", "text"),
        ("<top><num>1<title>a</top><top><num>1<title>b</top>", "twice"),
    ],
)
def test_broken_topics(tmp_path: Path, content: str, about: str) -> None:
    path = tmp_path / "topics"
    path.write_text(content, encoding="utf-8")
    with data_error(path, about=about):
        read_queries(path)


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


def test_ir_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> Any:
        return {"robust04": SimpleNamespace(queries_iter=lambda: iter([TitledQuery("301", "Crime", "...")]))}[
            name
        ]

    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load=load))
    assert read_queries("irds:robust04")["301"].query_text == "Crime"
    with data_error("irds:robust05", about="ir_datasets"):
        read_queries("irds:robust05")


def test_ir_datasets_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[irds\]'"):
        read_queries("irds:robust04")
