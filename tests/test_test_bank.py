"""Test banks: ids, file layouts, duplicates, errors."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import BankLine, TestBank, entry_id
from exam_pp.errors import SelectionError
from exam_pp.formats.base import format_of
from exam_pp.store.banks.bank_json import read_bank, write_bank
from tests.conftest import data_error

Write = Callable[[str, list[Any]], Path]

PIONEERS = "Which musicians or bands are considered pioneers of rock n roll?"


def question(query_id: str, key: str, **keys: Any) -> dict[str, Any]:
    return {
        "query_id": query_id,
        "question_id": f"{query_id}/{key}",
        "question_text": f"What is {key}?",
        **keys,
    }


def nugget(query_id: str, key: str, **keys: Any) -> dict[str, Any]:
    return {"query_id": query_id, "nugget_id": f"{query_id}/{key}", "nugget_text": f"{key} is.", **keys}


def line(query_id: str, items: list[Any], **keys: Any) -> dict[str, Any]:
    return {
        "query_id": query_id,
        "test_collection": "c",
        "query_text": f"about {query_id}",
        "items": items,
        **keys,
    }


def test_id_is_the_md5_of_the_stripped_text() -> None:
    """The example of a published bank (TREC DL 2020)."""
    digest = "a4c82219840e6d197d185ed1eda27c61"
    assert entry_id("940547", PIONEERS) == f"940547/{digest}"
    assert entry_id("940547", f"  {PIONEERS}\n") == f"940547/{digest}"
    assert entry_id("q", PIONEERS, "facet") == f"q/facet/{digest}"


def test_lines_of_a_query_are_concatenated(write_jsonl: Write) -> None:
    path = write_jsonl(
        "bank.jsonl",
        [
            line("q", [question("q", "a")], facet_id="f1"),
            line("r", [question("r", "c")]),
            line("q", [question("q", "b")], facet_id="f2"),
        ],
    )
    bank = read_bank(path)
    assert list(bank.queries) == ["q", "r"]
    assert list(bank.entries("q")) == ["q/a", "q/b"]
    assert bank.queries["q"].query_text == "about q"
    assert bank.entries("unknown") == {}


@pytest.mark.parametrize(
    ("items", "keys", "expected"),
    [
        ([question("q", "a")], {}, [("What is a?", "question", None, 1.0)]),
        ([nugget("q", "a", importance="vital", weight=2)], {}, [("a is.", "nugget", "vital", 2.0)]),
        ([], {"questions": [question("q", "a")]}, [("What is a?", "question", None, 1.0)]),
    ],
    ids=["question", "nugget with our keys", "the older shape with questions"],
)
def test_entries(items: list[Any], keys: dict[str, Any], expected: list[Any], write_jsonl: Write) -> None:
    value = {key: each for key, each in line("q", items, **keys).items() if each != []}
    entries = read_bank(write_jsonl("bank.jsonl", [value])).entries("q").values()
    assert [(entry.text, entry.kind, entry.importance, entry.weight) for entry in entries] == expected


@pytest.mark.parametrize(("make", "is_noted"), [(question, False), (nugget, True)])
def test_duplicate_ids_are_kept_once_and_logged(
    make: Callable[..., dict[str, Any]], is_noted: bool, write_jsonl: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """Nugget scores count every duplicate, as published (tests/phases/evaluation/test_nugget_scores.py)."""
    items = [make("q", "a"), make("q", "b"), make("q", "a", weight=2)]
    bank = read_bank(write_jsonl("bank.jsonl", [line("q", items)]))
    assert (bank.duplicates, bank.entries("q")["q/a"].weight) == (["q/a"], 1)
    assert len(bank.lines[0].items) == 3, "the file's lines stay whole"
    assert "q/a" in caplog.text
    assert ("except in nugget scores" in caplog.text) == is_noted


def test_kinds_are_required() -> None:
    bank = TestBank.from_lines([BankLine.model_validate(line("q", [nugget("q", "a")]))])
    bank.require_kind("nugget", "This prompt")
    with pytest.raises(SelectionError, match=r"^This prompt .*questions.*contains nuggets"):
        bank.require_kind("question", "This prompt")


def test_bank_round_trip(write_jsonl: Write, tmp_path: Path) -> None:
    values = [
        line(
            "q",
            [
                question("q", "a", gold_answers=[], info={"history": []}, custom=1),
                nugget("q", "b", facet_id="f"),
            ],
            hash=-12345,
            info={"gpt_model": "m", "prompt_target": "questions"},
            extra=None,
        )
    ]
    copy = tmp_path / "copy.jsonl.gz"
    write_bank(read_bank(write_jsonl("bank.jsonl", values)).lines, copy)
    assert [json.loads(each) for each in gzip.decompress(copy.read_bytes()).splitlines()] == values


@pytest.mark.parametrize(
    ("value", "line_number", "field", "about"),
    [
        (line("q", []), None, None, "no questions"),
        ([1], 1, None, "exam-pp validate"),
        ({"query_id": "q"}, 1, "items", "missing"),
        (line("q", [{"query_id": "q"}]), 1, "items.1", "question_id (or nugget_id)"),
        (
            line("q", [question("q", "a"), {"query_id": "q", "nugget_id": "n"}]),
            1,
            "items.2.nugget.nugget_text",
            "missing",
        ),
        (line("q", [{"query_id": "q", "question_id": "n"}]), 1, "items.1.question.question_text", "missing"),
        (line("q", [question("q", "a", weight="heavy")]), 1, "items.1.question.weight", "number"),
    ],
)
def test_errors_name_line_and_field(
    write_jsonl: Write, value: Any, line_number: int | None, field: str | None, about: str
) -> None:
    path = write_jsonl("bank.jsonl", [value])
    with data_error(path, line_number, field, about=about):
        read_bank(path)


def test_lines_of_a_query_are_one_query(write_jsonl: Write) -> None:
    path = write_jsonl(
        "bank.jsonl",
        [
            line("q", [question("q", "a"), question("q", "a")], facet_id="f1", query_text=""),
            line("r", [nugget("r", "c")]),
            line("q", [question("q", "b"), question("q", "a")], facet_id="f2"),
        ],
    )
    bank = read_bank(path)
    assert [bank_line.query_id for bank_line in bank.lines] == ["q", "r", "q"]
    assert [query.query_id for query in bank] == ["q", "r"]
    assert bank.kinds == {"question", "nugget"}
    assert bank.duplicates == ["q/a", "q/a"]
    assert bank.entries("q").keys() == {"q/a", "q/b"}
    assert bank.queries["q"].query_text == "about q"
    assert not bank.entries("s")


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        # (facet, text of the facet, text of the query) of each line
        ([("f1", "Roots", "Bees / Roots"), ("f2", "Dance", "Bees / Dance")], "Bees"),
        ([("f1", "Roots", "Bees / Roots")], "Bees"),
        ([("f1", None, "Bees / Roots"), ("f2", None, "Bees / Dance")], "Bees"),
        ([("f1", "Roots", "Bees"), ("f2", "Dance", "Bees")], "Bees"),
        ([("f1", "Roots", "Wild bees / Roots"), (None, None, "Bees")], "Bees"),
        ([(None, None, "Bees"), ("f1", "Roots", "Wild bees / Roots")], "Bees"),
        ([("f1", "Roots", "Ants"), ("f2", "Dance", "Bees")], "Ants"),
        ([("f1", "Roots", ""), ("f2", "Dance", "Bees / Dance")], "Bees"),
        ([("f1", "Roots", "Honey / Bees / Roots"), ("f2", "Dance", "Honey / Bees / Dance")], "Honey / Bees"),
    ],
)
def test_the_text_of_a_query_with_facets_is_its_title(
    texts: list[tuple[str | None, str | None, str]], title: str, write_jsonl: Write
) -> None:
    lines = []
    for facet, facet_text, text in texts:
        more = {} if facet is None else {"facet_id": facet, "facet_text": facet_text}
        lines.append(line("q", [question("q", f"{facet}")], query_text=text, **more))
    bank = read_bank(write_jsonl("bank.jsonl", lines))
    assert bank.queries["q"].query_text == title
    assert [bank_line.query_text for bank_line in bank.lines] == [text for _, _, text in texts]


@pytest.mark.parametrize("kind", ["question", "nugget"])
def test_a_bank_may_have_an_entry_on_each_line(kind: str, tmp_path: Path, write_jsonl: Write) -> None:
    rows = [
        {
            "query_id": "q",
            "query_text": "bees",
            f"{kind}_id": "q/1",
            f"{kind}_text": "A",
            "importance": "vital",
        },
        {"query_id": "q", "query_text": "bees", "facet_id": "f", kind: "B", "more": 1},
        {"query_id": 7, "query_text": "tides", f"{kind}_text": "C", "info": {"by": "me"}},
    ]
    path = write_jsonl("rows.jsonl", rows)
    assert format_of(path).name == "bank"
    bank = read_bank(path)
    entries = [(item.query_id, item.facet_id, item.entry_id, item.text, item.kind) for line in bank.lines
               for item in line.items]  # fmt: skip
    assert entries == [
        ("q", None, "q/1", "A", kind),
        ("q", "f", entry_id("q", "B", "f"), "B", kind),
        ("7", None, entry_id("7", "C"), "C", kind),
    ]
    assert (bank.lines[0].items[0].importance, bank.lines[1].items[0].model_extra) == ("vital", {"more": 1})
    assert bank.lines[2].items[0].info == {"by": "me"}
    assert (bank.queries["q"].query_text, bank.queries["7"].query_text) == ("bees", "tides")
    write_bank(bank.lines, tmp_path / "bank.jsonl")
    assert read_bank(tmp_path / "bank.jsonl") == bank
