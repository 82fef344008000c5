"""Random and constant baselines, and the base class that they share with the lexical grader."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.llm import ModelOptions, load_llm
from exam_pp.llm.baselines import entry_of, scale_of, sentences
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.prompts import PROMPTS

QUESTION_RATING = PROMPTS.get("QuestionSelfRatedUnanswerablePromptWithChoices")
QUESTION_EXTRACTION = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")
NUGGET_RATING = PROMPTS.get("NuggetSelfRatedPrompt")
PASSAGE = "Tides rise twice a day. The Moon pulls the oceans. Ships wait for high water."
BASELINES = ["random", "constant", "lexical"]


def rating(text: str = "What causes tides?", passage: str = PASSAGE, *, soft: bool = True) -> Request:
    parts = QUESTION_RATING.render({"question": text, "context": passage})
    return Request(parts, QUESTION_RATING.labels if soft else ())


def extraction(text: str = "What causes tides?", passage: str = PASSAGE) -> Request:
    return Request(QUESTION_EXTRACTION.render({"question": text, "context": passage}))


def answers(name: str, requests: list[Request]) -> list[Completion]:
    replies = dict(load_llm(ModelOptions(name)).generate(requests))
    return [replies[index] for index in range(len(requests))]


@pytest.mark.parametrize("name", BASELINES)
def test_ratings_are_labels_of_the_scale(name: str) -> None:
    requests = [rating(f"What causes {thing}?") for thing in ("tides", "rain", "war", "the Moon's pull")]
    for reply in answers(name, requests):
        assert reply.text in QUESTION_RATING.labels
        assert reply.error is None


@pytest.mark.parametrize("name", BASELINES)
def test_rating_does_not_depend_on_the_request_for_likelihoods(name: str) -> None:
    """A request without soft grades has no labels, so the scale is read from the text of the prompt."""
    soft, hard = answers(name, [rating(), rating(soft=False)])
    assert hard.text in QUESTION_RATING.labels
    assert hard.label_logprobs == ()
    if name != "random":  # its draw depends on the whole request
        assert hard.text == soft.text


@pytest.mark.parametrize("name", BASELINES)
def test_extractions_are_spans_or_unanswerable(name: str) -> None:
    passages = [PASSAGE, "One sentence about tides", "", "!!!", "Tides?\n\nMoon: “Yes.” No."]
    for passage, reply in zip(
        passages, answers(name, [extraction(passage=p) for p in passages]), strict=True
    ):
        assert reply.text == "unanswerable" or (reply.text and reply.text in passage)


@pytest.mark.parametrize("name", BASELINES)
def test_yes_no_and_other_scales(name: str) -> None:
    parts = (Part("Answer yes or no. Question: "), Part("tides", "query"), Part(PASSAGE, "context", True))
    yes_no, levels = answers(name, [Request(parts, ("no", "yes")), Request(parts, ("0", "1", "2"))])
    assert yes_no.text in {"no", "yes"}
    assert levels.text in {"0", "1", "2"}


@pytest.mark.parametrize("name", BASELINES)
def test_provenance_marks_baselines(name: str) -> None:
    provenance = load_llm(ModelOptions(name)).provenance()
    assert provenance["engine"] == name
    assert provenance["baseline"]


def test_random_is_deterministic_and_uses_the_whole_scale() -> None:
    requests = [rating(f"Question {number}?") for number in range(300)]
    first = answers("random", requests)
    assert first == answers("random", requests)
    counts = Counter(reply.text for reply in first)
    assert set(counts) == set(QUESTION_RATING.labels)
    assert min(counts.values()) > 25


def test_random_extraction_is_unanswerable_about_half_of_the_time() -> None:
    replies = answers("random", [extraction(f"Question {number}?") for number in range(300)])
    share = sum(reply.text == "unanswerable" for reply in replies) / len(replies)
    assert 0.4 < share < 0.6


def test_constant_gives_the_middle() -> None:
    assert [r.text for r in answers("constant", [rating(), rating("Who?", "Nothing.")])] == ["3", "3"]
    assert answers("constant", [extraction()])[0].text == "Tides rise twice a day."


def test_scale_is_read_from_the_text_of_published_prompts() -> None:
    assert scale_of(rating(soft=False)) == ("0", "1", "2", "3", "4", "5")
    nugget = Request(NUGGET_RATING.render({"nugget": "tides", "context": "- 9: no scale line"}))
    assert scale_of(nugget) == ("0", "1", "2", "3", "4", "5")
    assert scale_of(extraction()) == ()


def test_entry_is_compared_with_the_passage() -> None:
    assert entry_of(rating("Why?")) == ("question", "Why?")
    nugget = Request(NUGGET_RATING.render({"nugget": "the Moon", "context": PASSAGE}))
    assert entry_of(nugget) == ("nugget", "the Moon")
    assert entry_of(Request((Part("text only"),))) is None


def test_sentences_keep_decimals_and_quotes() -> None:
    text = 'It is 3.5 km away. He said "Stop." Then it ended!\nNew line'
    assert sentences(text) == ["It is 3.5 km away.", 'He said "Stop."', "Then it ended!", "New line"]


@given(st.text())
def test_sentences_are_spans_with_all_text_except_white_space(text: str) -> None:
    spans = sentences(text)
    assert all(span in text and span == span.strip() and span for span in spans)
    assert "".join("".join(spans).split()) == "".join(text.split())
