"""Labels of RAGElo's reasoner: anywhere in a sentence, once, and not negated; sentences are kept whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exam_pp.graders.base import PassageUnit
from exam_pp.graders.make import RATING_TOKENS, make_grader
from exam_pp.llm_requests import DEFAULT_MAX_NEW_TOKENS, Completion
from exam_pp.prompts.custom import parse_prompt, prompt_as_file
from exam_pp.prompts.reading import NOT_A_LABEL
from exam_pp.prompts.reasoner import REASONER, RELEVANCE_LABELS, find_relevance_label

CASES = json.loads((Path(__file__).parent / "cases" / "reasons.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("reply", "rating"), CASES.items())
def test_the_label_is_read_wherever_it_stands(reply: str, rating: int | None) -> None:
    verdict = REASONER.parse(reply, None, "chat")
    assert verdict.rating == rating
    assert verdict.reason == (NOT_A_LABEL if rating is None else None)
    assert verdict.correct == bool(rating)


def test_the_label_is_found_in_the_reply() -> None:
    search = REASONER.label_search("chat")
    assert search is not None
    reply = "<think>Very relevant?</think>The text is **somewhat relevant** to it."
    assert search.find(reply) == (
        start := reply.index("somewhat"),
        start + len("somewhat relevant"),
    )
    assert search.find("It is not very relevant.") is None
    assert search.is_settled is None, "the sentence does not end with its label"


@pytest.mark.parametrize(
    "reply",
    [
        "not " * 50_000,
        "very relevant " * 20_000,
        "isn't " * 50_000,
        "no" + " " * 200_000,
        "not " + "a" * 200_000,
    ],
    ids=["not", "labels", "isn't", "blanks", "word"],
)
def test_long_replies_are_read_in_linear_time(reply: str) -> None:
    """A quadratic search takes minutes."""
    find_relevance_label(reply)


def test_a_reason_is_kept_whole_and_may_have_several_lines() -> None:
    grader = make_grader(REASONER, "m", {}, "chat")
    grading = grader.run(PassageUnit("q", "why", "p", "because", []))
    (request,) = next(grading)
    assert not request.one_line
    assert not request.cuts
    assert request.max_new_tokens == DEFAULT_MAX_NEW_TOKENS > RATING_TOKENS
    assert request.labels == RELEVANCE_LABELS
    with pytest.raises(StopIteration) as stop:
        grading.send([Completion("It answers why.\nVery relevant.", label_logprobs=(-3.0, -2.0, -0.2))])
    grade = stop.value.value
    assert (grade.answer, grade.self_ratings) == ("It answers why.\nVery relevant.", 2)
    assert grade.expected == pytest.approx(1.766)  # (e^-2 + 2 e^-0.2) / (e^-3 + e^-2 + e^-0.2)


def test_a_prompt_file_can_ask_for_reasons() -> None:
    copy = parse_prompt(prompt_as_file(REASONER), "copy.toml")
    assert (copy.hash, copy.choices, copy.max_rating) == (REASONER.hash, RELEVANCE_LABELS, 2)
    assert copy.keeps_whole_reply
    assert copy.parse("Somewhat relevant", None, "default").rating == 1
