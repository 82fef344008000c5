"""Comparison of extracted answers with gold answers by their words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.prompts.answer_key import (
    ANSWER_KEY,
    checkable_golds,
    is_checkable,
    is_correct,
    matches,
    normalise,
)
from exam_pp.test_bank import Question

CASES = Path(__file__).parent / "cases"


def cases(name: str) -> list[dict[str, Any]]:
    return list(json.loads((CASES / name).read_text(encoding="utf-8"))["cases"])


def question(golds: list[str] | None) -> Question:
    return Question(query_id="q", question_id="q/1", question_text="What?", gold_answers=golds)


@pytest.mark.parametrize(
    "case", cases("answers.json"), ids=lambda case: f"{case['answer']!r}-{case['golds']}"
)
def test_answers(case: dict[str, Any]) -> None:
    assert is_correct(case["answer"], case["golds"]) == case["correct"]
    verdict = ANSWER_KEY(case["answer"], question(case["golds"]), "default")
    assert (verdict.rating, verdict.correct, verdict.reason) == (None, case["correct"], None)


@pytest.mark.parametrize("case", cases("golds.json"), ids=lambda case: repr(case["gold"]))
def test_gold_answers_that_refer_to_other_choices(case: dict[str, Any]) -> None:
    assert is_checkable(case["gold"]) == case["checkable"]


def test_normalised_words() -> None:
    assert normalise("The Layers of 3.5 km, rising!") == "layer 3.5 km rise"


def test_checkable_golds() -> None:
    assert checkable_golds(question(["all of the above", "air"])) == ["air"]
    assert checkable_golds(question(["all of the above"])) is None
    assert checkable_golds(question([])) == []
    with pytest.raises(ValueError, match="gold_answers"):
        checkable_golds(question(None))


def test_distance_is_below_20_percent() -> None:
    assert matches("abcdefghij", "abcdefghix"), "1 of 10 characters"
    assert not matches("zyxwv", "zyxwq"), "1 of 5 characters"


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=3))
def test_any_answer_can_be_checked(answer: str, golds: list[str]) -> None:
    assert is_correct(answer, golds) in (True, False)


@given(st.text(max_size=30), st.text(max_size=30))
def test_matching_is_symmetric_and_reflexive(left: str, right: str) -> None:
    truth = {"true", "false", "yes", "no"}
    if not ({word for text in (left, right) for word in text.lower().split()} & truth):
        assert matches(left, right) == matches(right, left)
    if left.strip():
        assert matches(left, left)
