"""Lists of entries and of labels in replies: tolerant of the format, strict about the number of labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.prompts import PROMPTS
from exam_pp.prompts.entry_list import plain_label, read_entries, read_labels
from exam_pp.prompts.reading import NOT_A_LABEL

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cases" / "generation.json").read_text(encoding="utf-8")
)

REAL: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "cases" / "real_lists.json").read_text(encoding="utf-8")
)
"""Replies of SmolLM2-135M-Instruct to the prompts of `generate` (greedy, 8 bits), cut at 700 characters."""


@pytest.mark.parametrize("case", CASES + REAL, ids=lambda case: case.get("name", case["reply"][:40]))
def test_table(case: dict[str, Any]) -> None:
    assert read_entries(case["reply"], case["key"]) == case["entries"]


WORDS = st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=6).map(" ".join)


@given(st.lists(WORDS, min_size=1, max_size=12), st.integers(0, 3))
def test_valid_json_is_read_within_any_text(entries: list[str], indent: int) -> None:
    reply = json.dumps({"nuggets": entries}, indent=indent or None)
    for around in ("{}", "Here:\n{}\nThanks", "```json\n{}\n```", "<think>x</think>\n{}"):
        assert read_entries(around.replace("{}", reply), "nuggets") == entries


@given(st.text())
def test_any_reply_gives_stripped_entries_or_none(reply: str) -> None:
    entries = read_entries(reply, "questions")
    assert entries is None or all(text == text.strip() and text for text in entries)


@pytest.mark.parametrize("depth", [40, 60, 600])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a": ', "}")])
def test_a_deeply_nested_list_is_read(depth: int, opening: str, closing: str) -> None:
    """A model that repeats itself may exceed Python's recursion limit."""
    reply = opening * depth + '["Bill Haley"]' + closing * depth
    assert read_entries(reply, "nuggets") == ["Bill Haley"]


TWO = ["support", "not_support"]


@pytest.mark.parametrize(
    "reply",
    [
        '["support", "not_support"]',
        "['support', 'not_support']",
        "[support, not_support]",
        "[“support”, “not_support”]",
        '```python\n["support",\n "not_support",]\n```',
        "```json\n{\"labels\": ['support', 'not_support']}\n```",
        'Labels: ["support", "not_support"]',
        '<think>["vital"]</think>\n["support", "not_support"]',
        'The nuggets ["a", "b", "c"] are\n["support", "not_support"]',
        '("support" is right) ["Support", "Not Support."]',
        '["support", "not\\_support"]',
        '["support", "not_support"] (type: List[str])',
        'Labels:\n["support", "not_support"]\n\n[1] is in the first sentence, [2] is not there.',
        '["support", "not_support"]\n\nNugget 2 is one of ["weak", "off topic"].',
        '\\boxed{["support", "not_support"]}',
        "1. support\n2. not_support",
        "- **support**\n- not-support",
    ],
)
def test_ways_to_write_a_list(reply: str) -> None:
    labels = read_labels(reply)
    assert labels is not None
    assert [plain_label(label) for label in labels] == TWO


@pytest.mark.parametrize(
    "reply", ["", "support", "I cannot.", '["support", "not_sup', "support, not_support"]
)
def test_no_list(reply: str) -> None:
    assert read_labels(reply) is None


def test_labels_are_not_changed_or_dropped() -> None:
    assert read_labels('["Mostly Supported", "", "support"]') == ["Mostly Supported", "", "support"]
    assert read_labels("[]") == []
    assert read_labels('["support", 1, null]') == ["support", "1", "null"]
    assert read_labels('["support", ...]') == ["support", "Ellipsis"], "an unknown label, not an error"
    assert read_labels('["support", "\\ud83d"]') == ["support", "?"], "a lone surrogate"


@given(
    st.lists(st.sampled_from(["support", "partial_support", "not_support", "it's so"]), min_size=1),
    st.sampled_from([json.dumps, repr]),
    st.sampled_from(["{}", "```\n{}\n```", "Labels: {}", "Here they are:\n\n{}\nDone."]),
)
def test_every_list_is_read_back(labels: list[str], write: object, around: str) -> None:
    assert callable(write)
    assert read_labels(around.format(write(labels))) == labels


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("support", 2),
        ("Support.", 2),
        ("**partial_support**", 1),
        ("Label: partial support", 1),
        ("not_support\n\nThe passage is about tides.", 0),
        ('["not_support"]', 0),
        ("```\nsupport\n```", 2),
        ('```json\n{"label": "partial_support"}\n```', 1),
        ("Label:\n\nnot\\_support", 0),
        ("supported", None),
        ("support the claim", None),
        ("2", None),
        ("", None),
    ],
)
def test_one_label(reply: str, rating: int | None) -> None:
    verdict = PROMPTS.get("NuggetAssignmentPointwise").parse(reply, None, "default")
    assert verdict.rating == rating
    assert verdict.reason == (NOT_A_LABEL if rating is None else None)


def test_partial_support_is_unknown_on_a_scale_of_two_labels() -> None:
    assert PROMPTS.get("NuggetAssignment2").parse("partial_support", None, "default").rating is None
