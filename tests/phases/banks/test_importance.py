"""Importance of the entries of existing banks: lists of ten, labels, limits, records, commands."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from exam_pp.banks import BankLine, Nugget
from exam_pp.errors import SelectionError
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.banks.importance import ImportanceOptions, ImportanceSummary, add_importance
from exam_pp.phases.banks.nuggetize import ImportanceModel
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.prompts.nuggets import NUGGET_IMPORTANCE
from exam_pp.store.passages.journal import Journal


def line(*nuggets: str, text: str = "the query", query_id: str = "q", **keys: Any) -> BankLine:
    """A line of nuggets; ``text=vital`` has an importance."""
    items = []
    for number, nugget in enumerate(nuggets):
        body, _, importance = nugget.partition("=")
        label = {"importance": importance} if importance else {}
        items.append(Nugget(query_id=query_id, nugget_id=f"{query_id}/{number}", nugget_text=body, **label))
    return BankLine(query_id=query_id, query_text=text, items=items, **keys)


def add(
    lines: list[BankLine],
    reply: Callable[[Request], Completion | str],
    query_texts: Mapping[str, str] | None = None,
    **options: Any,
) -> tuple[list[BankLine], ImportanceSummary, FakeLLM]:
    llm, summary = FakeLLM(reply), ImportanceSummary()
    model = ImportanceModel(Answerer(llm, Journal(None)), llm.name, llm.provenance())
    labelled = add_importance(
        lines, model, options=ImportanceOptions(**options), query_texts=query_texts, summary=summary
    )
    return labelled, summary, llm


def listed(request: Request) -> list[str]:
    texts: list[str] = json.loads(request.slot("nuggets") or "")
    return texts


def by_text(request: Request) -> str:
    """``vital`` for texts that contain a v."""
    return json.dumps(["vital" if "v" in text else "okay" for text in listed(request)])


def importance(line: BankLine) -> list[tuple[str, str | None]]:
    return [(item.text, item.importance) for item in line.items]


def test_every_entry_gets_a_label_in_lists_of_ten() -> None:
    """Section 3.1: at most ten nuggets in a call; the prompt is that of Figure 4."""
    asked: list[Request] = []

    def reply(request: Request) -> str:
        asked.append(request)
        return by_text(request)

    texts = [f"{'v' if number % 3 else 'o'}{number}" for number in range(23)]
    (labelled,), summary, _ = add([line(*texts)], reply)
    assert [len(listed(request)) for request in asked] == [10, 10, 3]
    values = {"count": "10", "query": "the query", "nuggets": json.dumps(texts[:10])}
    assert asked[0].text == Request(NUGGET_IMPORTANCE.render(values), max_new_tokens=1).text
    assert importance(labelled) == [(text, "vital" if "v" in text else "okay") for text in texts]
    assert summary.labels == {"vital": 15, "okay": 8}


def test_keep_sorts_and_cuts() -> None:
    """Section 3.1: in descending order of importance, the first 20; ties keep the order of the bank."""
    (labelled,), summary, _ = add([line("o1", "v1", "o2", "v2", "o3")], by_text, keep=3)
    assert importance(labelled) == [("v1", "vital"), ("v2", "vital"), ("o1", "okay")]
    assert labelled.info["cut"] == ["o2", "o3"]
    assert summary.cut == 2


def test_query_texts_of_the_bank_and_of_a_file() -> None:
    asked: list[str | None] = []

    def reply(request: Request) -> str:
        asked.append(request.slot("query"))
        return by_text(request)

    lines = [line("v", text="a facet"), line("v", text="", query_id="p")]
    add(lines, reply, {"q": "other", "p": "of the file"})
    assert asked == ["a facet", "of the file"]
    with pytest.raises(SelectionError, match=r"'p'.* --queries"):
        add(lines, reply)
    labelled, _, _ = add([line("v=okay", text="")], reply)
    assert importance(labelled[0]) == [("v", "okay")], "a text is needed only for entries to label"
