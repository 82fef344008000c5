"""The reading of real replies of a chat model (SmolLM2-135M-Instruct), also of replies that are cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import Prompt, Unparsed
from exam_pp.prompts.reading import find_rating

CASES = Path(__file__).parent / "cases" / "chat_replies.json"
"""Replies about passages of ``data/demo``, greedy and sampled, with the ratings that a person read."""
REPLIES: list[dict[str, Any]] = json.loads(CASES.read_text("utf-8"))
STATED: list[dict[str, Any]] = json.loads(CASES.with_name("stated_ratings.json").read_text("utf-8"))
NUGGET, RELEVANCE = "NuggetSelfRatedPrompt", "GradedRelevance"


def first_settled(prompt: Prompt, reply: str) -> str:
    """The reply up to where a backend cuts it."""
    search = prompt.label_search("chat")
    assert search is not None
    assert search.is_settled is not None
    ends = (end for end in range(1, len(reply)) if search.is_settled(reply[:end]))
    return reply[: next(ends, len(reply))]


def check_cut(prompt: Prompt, reply: str) -> None:
    """A cut reply has the rating of the whole reply, and the search finds this rating."""
    whole = prompt.parse(reply, None, "chat")
    assert prompt.parse(first_settled(prompt, reply), None, "chat") == whole
    search = prompt.label_search("chat")
    assert search is not None
    span = search.find(reply)
    is_number = whole.rating is not None and whole.source == "number"
    assert (reply[slice(*span)] if span else None) == (str(whole.rating) if is_number else None)


@pytest.mark.parametrize("row", REPLIES, ids=lambda row: row["reply"][:40])
def test_real_replies(row: dict[str, Any]) -> None:
    prompt = PROMPTS.get(row["prompt_class"])
    verdict = prompt.parse(row["reply"], None, "chat")
    assert verdict.rating == row["rating"]
    assert (verdict.reason is None) == (row["rating"] is not None)
    check_cut(prompt, row["reply"])


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("- 4: The answer is mostly relevant.", 4),
        ("The coverage of the fact is 5: Detailed", 5),
        ("The coverage of the specified key fact (nugget) is 0.", 0),
        ("**Rating:** 3", 3),
        ("I would rate this 4/5", 4),
        ("I'd give it a 4.", 4),
        ("Rating: 4.0.", 4),
        ("4.0/5", 4),
        ("The rating for this passage is: 3", 3),
        ("I would rate the relevance of this passage as 4 out of 5.", 4),
        ("On a scale of 0 to 5, I would rate this a 3.", 3),
        ("Rating: 2. Later text that rates this 4/5.", 2),
        ("unanswerable", 0),
        ("The coverage of the telescope is 2.4 metres.", None),
        ("The coverage of the fact is 3 units of heat per unit.", None),
        ("The rating of the passage is 3 or 4.", None),
        ("The coverage of the fact is 7: beyond", None),
        ("The article lists 4 causes.", None),
        ("It took 3 years.", None),
        ("", None),
    ],
)
def test_sentences(reply: str, rating: int | None) -> None:
    prompt = PROMPTS.get(NUGGET)
    assert prompt.parse(reply, None, "chat").rating == rating
    if reply != "unanswerable":
        check_cut(prompt, reply)


@pytest.mark.parametrize("row", STATED, ids=lambda row: row["reply"][:40])
def test_stated_ratings(row: dict[str, Any]) -> None:
    """JSON, several numbers, number words and other languages; the papers' rule reads no words."""
    assert find_rating(row["reply"], 5, "chat") == row["chat"]
    assert find_rating(row["reply"], 5) == row["default"]
    if not row["reply"][0].isdigit():  # a local model may end after "2: brief"
        cut = first_settled(PROMPTS.get(NUGGET), row["reply"])
        assert find_rating(cut, 5, "chat") == row["chat"]


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ('{"M":2,"T":1,"O":3}', 3),
        ('```json\n{"trust":1,"overall":2,"why":"x"}\n```', 2),
        ("##final score: 1\nWait.\n##final score: 2", 2),
        ('{"M":2,"T":1}', None),
    ],
)
def test_final_scores(reply: str, rating: int | None) -> None:
    assert PROMPTS.get(RELEVANCE).parse(reply, None, "chat").rating == rating


def test_instructions_that_a_reply_repeats_are_no_relevance_grades() -> None:
    prompt = PROMPTS.get(RELEVANCE)
    for reply in (
        "The final score is 0, 1, 2, or 3.",
        "The passage is dedicated to the query and contains the exact answer.",
        "1. Consider the intent that underlies the search.\n2. Measure how well",
    ):
        assert prompt.parse(reply, None, "chat").rating is None
        assert first_settled(prompt, reply) == reply
    assert prompt.parse("So the final score is 3.", None, "chat").rating == 3


def test_only_the_policy_for_chat_models_cuts_replies() -> None:
    for name in (NUGGET, RELEVANCE, "Thomas", "Sun"):
        policies: list[Unparsed] = ["default", "published", "ungraded", "chat"]
        for policy in policies:
            search = PROMPTS.get(name).label_search(policy)
            assert search is not None
            assert (search.is_settled is not None) is (policy == "chat")
    assert PROMPTS.get("NuggetExtractionPrompt").label_search("chat") is None


def test_replies_end_after_thinking_text_only() -> None:
    search = PROMPTS.get(NUGGET).label_search("chat")
    assert search is not None
    assert search.is_settled is not None
    assert not search.is_settled("<think>Rating: 2 because it is short and")
    reply = "<think>Rating: 2 because</think>Rating: 4 because it is"
    assert search.is_settled(reply)
    assert search.find(reply) == (reply.index("4"), reply.index("4") + 1)
