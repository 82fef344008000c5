"""Criteria: their prompt, criteria files, and replies with a line of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError
from exam_pp.plugins.rag_metrics.grading import read_criteria_file
from exam_pp.plugins.rag_metrics.prompts import (
    NO_JSON,
    NO_KEY,
    NO_LEVEL,
    RAGELO,
    CriteriaSet,
    parse_criteria,
    read_criteria,
)
from exam_pp.prompts.custom import prompt_as_file

NAMES = ("relevance", "accuracy", "completeness", "precision")
OWN = """
name = "Tone"
[[criteria]]
name = "politeness"
description = "Is the answer polite {in every way}?"
levels = ["rude", "polite"]
[[criteria]]
name = "Plain words"
description = "Is it easy\\nto read?"
levels = ["hard", "so-so", "easy", "very easy"]
"""


def scores(*values: Any) -> dict[str, Any]:
    return dict(zip(NAMES, values, strict=True))


READABLE: list[tuple[str, dict[str, Any]]] = [
    ('{"relevance": 2, "accuracy": 1, "completeness": 0, "precision": 2}', scores(2, 1, 0, 2)),
    (
        'Intent: {x}.\n{"relevance": 2, "accuracy": 1, "completeness": 0, "precision": 2}\n\n',
        scores(2, 1, 0, 2),
    ),
    (
        '{"relevance": 0, "accuracy": 0, "completeness": 0, "precision": 0}\nNo, rather:\n'
        '{"relevance": 1, "accuracy": 1, "completeness": 1, "precision": 1}',
        scores(1, 1, 1, 1),
    ),
    (
        '```json\n{\n "relevance": 2,\n "accuracy": 2,\n "completeness": 2,\n "precision": 2\n}\n```\n{x}',
        scores(2, 2, 2, 2),
    ),
    (
        "{'Relevance': '2', 'accuracy': 1.0, 'completeness': 0, 'precision': 2,}",
        scores(2, 1, 0, 2),
    ),
    (
        '<think>{"relevance": 0}</think>{"scores": {"relevance": 2, "accuracy": 2, "completeness": 1, '
        '"precision": 1}}',
        scores(2, 2, 1, 1),
    ),
    ('{"relevance": 2, "accuracy": 1}', scores(2, 1, NO_KEY, NO_KEY)),
    (
        '{"relevance": 3, "accuracy": -1, "completeness": 0.5, "precision": true}',
        scores(NO_LEVEL, NO_LEVEL, NO_LEVEL, NO_LEVEL),
    ),
    (
        '{"relevance": null, "accuracy": "high", "completeness": [1], "precision": 1, "depth": 7}',
        scores(NO_LEVEL, NO_LEVEL, NO_LEVEL, 1),
    ),
    ('{"relevance": 2, "accuracy": 1, "compl', scores(NO_JSON, NO_JSON, NO_JSON, NO_JSON)),
    ("relevance: 2", scores(NO_JSON, NO_JSON, NO_JSON, NO_JSON)),
    ('{"depth": 2}', scores(NO_JSON, NO_JSON, NO_JSON, NO_JSON)),
    ("", scores(NO_JSON, NO_JSON, NO_JSON, NO_JSON)),
]


@pytest.mark.parametrize(("reply", "expected"), READABLE)
def test_replies(reply: str, expected: dict[str, Any]) -> None:
    assert read_criteria(reply, RAGELO.criteria) == expected
    verdict = RAGELO.prompt.parse(reply, None, "ungraded")
    assert verdict.correct == all(isinstance(value, int) for value in expected.values())


def test_a_model_that_is_still_thinking_has_no_ratings() -> None:
    ratings = read_criteria('<think>{"relevance": 2}', RAGELO.criteria)
    assert set(ratings.values()) == {"the reply ended before the model finished thinking"}


@pytest.mark.parametrize(
    "reply",
    ["{" * 200_000, '{"a":' * 50_000, "{}" * 50_000, "{'a" * 50_000, '{"relevance":[' * 20_000 + "}" * 10],
    ids=["braces", "nested", "empty", "quotes", "lists"],
)
def test_long_replies_are_read_in_linear_time(reply: str) -> None:
    """A quadratic search takes minutes."""
    assert set(read_criteria(reply, RAGELO.criteria).values()) == {NO_JSON}


def own() -> CriteriaSet:
    return parse_criteria(OWN, "criteria.toml")


def test_a_criteria_file_makes_a_prompt() -> None:
    made = own()
    assert [criterion.highest for criterion in made.criteria] == [1, 3]
    text = made.prompt.text
    assert (
        "- **Politeness**: Is the answer polite {in every way}?\n- **Plain words**: Is it easy to read?"
        in text
    )
    assert '- "Plain words"\n  - 0: hard\n  - 1: so-so\n  - 2: easy\n  - 3: very easy\n' in text
    assert 'with the keys "politeness" and "Plain words", each with a single score from its levels' in text
    assert "users' questions.\n" in text
    assert made.prompt.provenance()["criteria"] == {"politeness": 1, "Plain words": 3}
    assert read_criteria('{"plain words": 3, "politeness": 2}', made.criteria) == {
        "politeness": NO_LEVEL,
        "Plain words": 3,
    }


def test_criteria_with_other_texts_are_another_prompt() -> None:
    other = parse_criteria(OWN.replace("so-so", "middling"), "criteria.toml")
    assert other.prompt.hash != own().prompt.hash


def test_the_built_in_criteria_as_a_file() -> None:
    text = prompt_as_file(RAGELO.prompt)
    copy = parse_criteria(text, "copy.toml")
    assert (copy.criteria, copy.prompt.name) == (RAGELO.criteria, "MyRAGEloCriteria")
    assert "relevance, accuracy, completeness, and precision" in copy.prompt.text, "all four are named"


BAD: dict[str, tuple[str, str]] = {
    "not TOML": ("name =", "is not valid TOML"),
    "huge integer": ("name = " + "9" * 5000, "is not valid TOML"),
    "no criteria": ('name = "A"', "criteria"),
    "unknown key": (OWN + "weight = 2\n", "weight"),
    "one level": (OWN.replace('["rude", "polite"]', '["rude"]'), "levels"),
    "duplicate": (
        OWN.replace("Plain words", "POLITENESS"),
        "'POLITENESS' is the name of an earlier criterion.",
    ),
    "mean": (OWN.replace("politeness", "mean"), "'mean' is reserved for the mean of all criteria."),
    "quote": (OWN.replace('"politeness"', "'a\"b'"), "name"),
    "known prompt": (OWN.replace("Tone", "Thomas"), "'Thomas' is already the name of a prompt"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_criteria_files(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "criteria.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as error:
        read_criteria_file(path)
    assert message in str(error.value)
    assert str(path) in str(error.value)
