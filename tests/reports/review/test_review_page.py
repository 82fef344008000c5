"""The HTML file of the review page: escaping, content security policy, and round trip of the data."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import Question
from exam_pp.data_model import Passage
from exam_pp.phases.review.review_table import Cell, QueryTable, cells_of
from exam_pp.reports.review.page import pack, render_page
from tests.conftest import passage, rubric
from tests.review_pages import blocks, ratings

HEAD: dict[str, Any] = {"graders": ["m"], "systems": [], "queries": [], "graded": {"name": "g"}}


def questions(query_id: str, *keys: str) -> dict[str, Question]:
    return {
        key: Question(query_id=query_id, question_id=key, question_text=f"text of {key}?") for key in keys
    }


def table(texts: dict[str, str], query_id: str = "q", **cells: Cell) -> QueryTable:
    table = QueryTable(query_id, "a query", questions(query_id, *cells))
    for key, text in texts.items():
        table.add(Passage(**passage(key, text=text)), [("m", cells)])
    return table


class Inventory(HTMLParser):
    """The elements of a page, the text of its script and style, and its policy."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.inline: dict[str, str] = {}
        self.policy = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags.append(tag)
        self._inside = tag if tag in ("script", "style") and "type" not in values else ""
        if values.get("http-equiv") == "Content-Security-Policy":
            self.policy = values["content"] or ""
        assert not any(name.startswith("on") or name == "style" for name in values), (
            "an inline handler or style"
        )

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.inline[self._inside] = self.inline.get(self._inside, "") + data


def inventory(page: str) -> Inventory:
    parser = Inventory()
    parser.feed(page)
    return parser


HOSTILE = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)> ${1} $script \u2028 \U0001f30a"


def test_texts_cannot_break_out() -> None:
    plain = render_page(HEAD, [table({"p": "text"}, a=Cell(3))])
    page = render_page(
        {**HEAD, "graded": {"name": HOSTILE}}, [table({"p": HOSTILE}, a=Cell(3, reply=HOSTILE))]
    )
    assert inventory(page).tags == inventory(plain).tags
    assert "alert(1)" not in page
    assert blocks(page)["query-0"]["texts"] == [HOSTILE]
    assert blocks(page)["head"]["graded"]["name"] == HOSTILE


def test_the_policy_allows_only_this_script_and_this_style() -> None:
    check_policy(render_page(HEAD, [table({"p": "text"}, a=Cell(3))]))


def check_policy(html: str) -> None:
    page = inventory(html)
    policy = dict(part.split(" ", 1) for part in page.policy.split("; "))
    for name in ("script", "style"):
        digest = b64encode(sha256(page.inline[name].encode()).digest()).decode()
        assert policy[f"{name}-src"] == f"'sha256-{digest}'"
    for name in ("default-src", "connect-src", "img-src", "form-action", "base-uri", "trusted-types"):
        assert policy[name] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"


def test_the_script_makes_no_markup_and_no_connection() -> None:
    check_script(render_page(HEAD, []))


def check_script(html: str) -> None:
    script = inventory(html).inline["script"].replace("http://www.w3.org/2000/svg", "")
    assert script.startswith('(() => {\n"use strict";\n')
    for word in (
        *("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"),
        *("fetch(", "XMLHttpRequest", "WebSocket", "import(", "http:", "https:", "</script", "<!--"),
    ):
        assert word not in script


def test_spans_count_as_javascript_counts() -> None:
    """Characters beyond the first plane are two units in UTF-16."""
    text = "Tides \U0001f30a follow the Moon."
    chunk = table({"p": text}, a=Cell(3, answer="the moon")).chunk(["m"], [], {})
    start, end = chunk["grades"][0]["spans"][0]
    assert text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le") == "the Moon"
    assert start == text.index("the Moon") + 1


def test_cells_of_grades() -> None:
    grades = rubric(
        {"a": 4},
        self_ratings=[
            {"question_id": "a", "self_rating": 4, "margin": 0.5, "expected": 3.9, "source": "reread"}
        ],
        llm_response_errors={"b": {"response": "huh", "failure_reason": "no rating", "prompt": "..."}},
        tokens_cut={"a": 7},
        comments={"a": "fine"},
    )
    rubric_grades = Passage(**passage(exam_grades=[grades])).rubric_grades
    assert rubric_grades is not None
    assert cells_of(rubric_grades[0]) == {
        "a": Cell(4, "reread", "4", None, None, "fine", 0.5, 3.9, 7),
        "b": Cell(None, None, "huh", None, "no rating"),
    }


def test_the_last_rating_counts_not_a_later_error() -> None:
    query_table = QueryTable("q", "", questions("q", "a"))
    one = Passage(**passage("p"))
    for cell in (Cell(1), Cell(4), Cell(None, reason="failed")):
        query_table.add(one, [("m", {"a": cell, "unknown": cell})])
    assert query_table.chunk(["m"], [], {})["grades"] == [{"rating": [4]}]
    assert query_table.foreign == {"unknown"}
    counts = query_table.head(["m"], 5, 4)["graders"][0]
    assert (counts["ratings"], counts["covered"]) == ([0, 0, 0, 0, 1, 0], 1)


def test_the_best_grade_is_counted_for_the_highest_judgment() -> None:
    query_table = QueryTable("q", "", questions("q", "a", "b"))
    judgments = [
        {"paragraphId": "p", "query": "q", "relevance": grade, "titleQuery": "q"} for grade in (0, 2)
    ]
    data = {"judgments": judgments, "rankings": []}
    query_table.add(Passage(**passage("p", paragraph_data=data)), [("m", {"a": Cell(0), "b": Cell(3)})])
    query_table.add(Passage(**passage("zero", paragraph_data=data)), [("m", {"a": Cell(0)})])
    assert query_table.head(["m"], 5, 4)["graders"][0]["judged"] == [(2, [1, 0, 0, 1, 0, 0])]


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=4),
        st.tuples(
            st.text(max_size=20), st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=2, max_size=2)
        ),
        min_size=1,
        max_size=6,
    )
)
def test_round_trip(given_passages: dict[str, tuple[str, list[int | None]]]) -> None:
    query_table = QueryTable("q", "a query", questions("q", "a", "b"))
    for key, (text, values) in given_passages.items():
        cells = {entry: Cell(value) for entry, value in zip("ab", values, strict=True) if value is not None}
        query_table.add(Passage(**passage(key, text=text)), [("m", cells)])
    head = {**HEAD, "queries": [query_table.head(["m"], 5, 4)]}
    page = render_page(head, [query_table])
    chunk = blocks(page)["query-0"]
    texts = [text if isinstance(text, str) else blocks(page)["texts"][text] for text in chunk["texts"]]
    assert {key: texts[place] for key, place in zip(chunk["ids"], chunk["text_of"], strict=True)} == {
        key: text for key, (text, _) in given_passages.items()
    }
    assert ratings(page) == {key: values for key, (_, values) in given_passages.items()}
    before = list(chunk["ids"])
    query_table.shuffle()
    assert sorted(query_table.chunk(["m"], [], {})["ids"]) == sorted(before)
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", pack(json.dumps(before)))
