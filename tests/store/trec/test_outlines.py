"""Outlines of TREC CAR in CBOR as queries with facets."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import DataError, MissingExtraError
from exam_pp.formats.base import format_of
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.store.trec.queries import is_outlines, read_queries
from tests.car_collection import FACETS, TITLES, outline

cbor2: Any = pytest.importorskip("cbor2", reason="cbor2 is not installed")
HEADER = ["CAR", [1, []], {"dataName": "a test"}]


def outlines(*pages: Any, header: bool = True) -> bytes:
    """A file of trec-car-tools: header and an open array of pages, or pages only."""
    body = b"".join(map(cbor2.dumps, pages))
    return cbor2.dumps(HEADER) + b"\x9f" + body + b"\xff" if header else body


@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("zipped", [True, False])
def test_pages_are_queries_and_sections_are_facets(header: bool, zipped: bool, tmp_path: Path) -> None:
    path = tmp_path / "outlines.cbor"
    data = outlines(*map(outline, TITLES), header=header)
    path.write_bytes(gzip.compress(data) if zipped else data)
    assert format_of(path).name == "car-outlines"
    queries = read_queries(path)
    assert {key: query.query_text for key, query in queries.items()} == TITLES
    facets = {key: {f.facet_id: f.facet_text for f in q.facets or ()} for key, q in queries.items()}
    assert facets == FACETS
    convert(Conversion(path, tmp_path / "queries.jsonl", "queries-jsonl"))
    assert read_queries(tmp_path / "queries.jsonl") == queries


def test_sections_within_sections_and_other_elements(tmp_path: Path) -> None:
    paragraph = [1, [0, b"abc", [[0, "Some text."], [1, [0, "Page", [], b"enwiki:Page", "page"]]]]]
    inner = [0, "Inner", b"inner", [paragraph]]
    outer = [0, "Outer", b"q/outer", [paragraph, [2, "image.png", []], inner]]
    page = [0, "Title", b"q", [paragraph, outer, [3, 1, paragraph[1]]]]
    path = tmp_path / "articles.cbor"
    path.write_bytes(outlines(page))
    (query,) = read_queries(path).values()
    assert [(f.facet_id, f.facet_text) for f in query.facets or ()] == [
        ("outer", "Outer"),
        ("outer/inner", "Outer / Inner"),
    ]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (outlines(outline("car:bees"))[:-9], "is not complete CBOR"),
        (outlines([0, "Title"]), "page 1: has no title, id and sections"),
        (outlines(outline("car:bees"), [0, "Title", b"\xff", []]), "page 2: has no title"),
        (outlines(["something", "else"]), "not pages of TREC CAR"),
        (outlines(), "has no queries"),
        (outlines(outline("car:bees"), outline("car:bees")), "'car:bees' occurs twice"),
    ],
)
def test_broken_outlines_are_one_sentence(data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "outlines.cbor").write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_queries(tmp_path / "outlines.cbor")


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outlines.cbor").write_bytes(outlines(outline("car:bees")))
    monkeypatch.setitem(sys.modules, "cbor2", None)
    with pytest.raises(MissingExtraError, match=r"pip install '.\[car\]'"):
        read_queries(tmp_path / "outlines.cbor")


@given(st.text(max_size=30))
def test_no_text_is_taken_for_outlines(text: str) -> None:
    """The first byte of CBOR arrays is never the first byte of a text in UTF-8."""
    assert not is_outlines(text.encode("utf-8", "ignore"))


@given(
    st.lists(st.tuples(st.text(min_size=1), st.text("ab", min_size=1)), min_size=1, unique_by=lambda p: p[1]),
    st.booleans(),
)
def test_all_titles_are_detected(pages: list[tuple[str, str]], header: bool) -> None:
    data = outlines(*([0, title, key.encode(), []] for title, key in pages), header=header)
    assert is_outlines(data) == (header or len(pages[0][0].encode()) < 2**32)
