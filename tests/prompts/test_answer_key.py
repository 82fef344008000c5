"""Comparison of extracted answers with gold answers by their words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import Question
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.answer_key import (
    ANSWER_KEY_RULES,
    gold_answers,
    is_checkable,
    is_correct,
    matches,
    normalise,
    with_answer_match,
)
from exam_pp.prompts.base import AnswerMatch

CASES = Path(__file__).parent / "cases"


def cases(name: str) -> list[dict[str, Any]]:
    return list(json.loads((CASES / name).read_text(encoding="utf-8"))["cases"])


def question(golds: list[str] | None) -> Question:
    return Question(query_id="q", question_id="q/1", question_text="What?", gold_answers=golds)


@pytest.mark.parametrize("match", ["paper", "strict"])
@pytest.mark.parametrize(
    "case", cases("answers.json"), ids=lambda case: f"{case['answer']!r}-{case['golds']}"
)
def test_answers(case: dict[str, Any], match: AnswerMatch) -> None:
    """A case has the key ``correct``, or ``paper`` and ``strict`` if the rules differ."""
    correct = case[match] if match in case else case["correct"]
    assert is_correct(case["answer"], case["golds"], match) == correct
    verdict = ANSWER_KEY_RULES[match](case["answer"], question(case["golds"]), "default")
    assert (verdict.rating, verdict.correct, verdict.reason) == (None, correct, None)


def test_the_table_of_examples_in_the_documentation(repository: Path) -> None:
    page = (repository / "docs" / "reference" / "prompts.md").read_text(encoding="utf-8")
    table = page.partition("| gold answer | reply |")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    assert len(rows) > 5
    for gold, reply, paper, strict in rows:
        entry = question([gold.strip("`")])
        expected = {"correct": True, "wrong": False, "not asked": None}
        cells: list[tuple[AnswerMatch, str]] = [("paper", paper), ("strict", strict)]
        for match, cell in cells:
            asked = gold_answers(entry, match) is not None
            verdict = ANSWER_KEY_RULES[match](reply.strip("`"), entry, "default")
            assert (verdict.correct if asked else None) is expected[cell], (gold, reply, match)


@pytest.mark.parametrize(
    "name", ["QuestionCompleteConcisePromptWithAnswerKey2", "QuestionExtractiveQAWithAnswerKey"]
)
def test_the_rule_of_a_prompt_can_be_replaced(name: str) -> None:
    prompt = PROMPTS.get(name)
    strict = with_answer_match(prompt, "strict")
    assert (prompt.answer_match, strict.answer_match, strict.hash) == ("paper", "strict", prompt.hash)
    entry = question(["35 km"])
    assert prompt.parse("3.5 km", entry, "default").correct
    assert not strict.parse("3.5 km", entry, "default").correct
    assert with_answer_match(strict, "paper") == prompt
    impossible = question([])
    extractive = "Extractive" in name
    assert strict.parse("", impossible, "default").correct == extractive, "an empty span is unanswerable"


def test_prompts_without_answer_key_have_no_rule_to_replace() -> None:
    prompt = PROMPTS.get("Thomas")
    assert with_answer_match(prompt, "strict") is prompt


@pytest.mark.parametrize("case", cases("golds.json"), ids=lambda case: repr(case["gold"]))
def test_gold_answers_that_refer_to_other_choices(case: dict[str, Any]) -> None:
    assert is_checkable(case["gold"]) == case["checkable"]


def test_normalised_words() -> None:
    assert normalise("The Layers of 3.5 km, rising!") == "layer 3.5 km rise"


def test_gold_answers_of_both_rules() -> None:
    both = question(["all of the above", "air", " "])
    assert gold_answers(both, "strict") == ["air"]
    assert gold_answers(both, "paper") == ["all of the above", "air"]
    assert gold_answers(question(["all of the above"]), "strict") is None
    assert gold_answers(question([" "]), "paper") is None
    assert gold_answers(question([]), "strict") == gold_answers(question([]), "paper") == []
    with pytest.raises(ValueError, match="gold_answers"):
        gold_answers(question(None), "paper")


@pytest.mark.parametrize("match", ["paper", "strict"])
def test_distance_is_below_20_percent(match: AnswerMatch) -> None:
    assert matches("abcdefghij", "abcdefghix", match), "1 of 10 characters"
    assert not matches("zyxwv", "zyxwq", match), "1 of 5 characters"


@given(st.text(max_size=30), st.lists(st.text(max_size=30), max_size=3), st.sampled_from(["paper", "strict"]))
def test_any_answer_can_be_checked(answer: str, golds: list[str], match: AnswerMatch) -> None:
    assert is_correct(answer, golds, match) in (True, False)


@given(st.text(max_size=30), st.text(max_size=30))
def test_matching_is_symmetric_and_reflexive(left: str, right: str) -> None:
    truth = {"true", "false", "yes", "no"}
    assert matches(left, right) == matches(right, left)
    if not ({word for text in (left, right) for word in text.lower().split()} & truth):
        assert matches(left, right, "strict") == matches(right, left, "strict")
    if left.strip():
        assert matches(left, left)
        assert matches(left, left, "strict")
