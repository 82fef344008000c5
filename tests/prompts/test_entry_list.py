"""Lists of entries in replies, by a table of cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.prompts.entry_list import read_entries

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
