"""The lexical grader: words, statistics, ratings, extraction, and agreement with real grades."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.graders.soft import soft_grade
from exam_pp.llm import ModelOptions
from exam_pp.llm.baselines import answer_scale, entry_of
from exam_pp.llm.lexical import THRESHOLDS, LexicalLLM, coverage, rating_level
from exam_pp.llm_requests import Completion, Part, Request
from exam_pp.prompts import PROMPTS
from exam_pp.text.sentences import plain_sentences
from exam_pp.text.stemming import content_stems, tokens
from tests.llm.asking import ask

RATING = PROMPTS.get("QuestionSelfRatedUnanswerablePromptWithChoices")
EXTRACTION = PROMPTS.get("QuestionCompleteConciseUnanswerablePromptWithChoices")

PASSAGES = [
    "The Panama Canal was finished in 1914. Workers died of malaria and yellow fever.",
    "Malaria is carried by mosquitoes. Draining swamps reduced the disease.",
    "Bees dance in the hive to tell others where flowers are.",
    "A heat pump moves heat instead of making it.",
]
WORDS = st.lists(
    st.sampled_from(["canal", "malaria", "bees", "heat", "pump", "dance", "tides", "the"]), min_size=1
).map(" ".join)


def lexical(text: str, passage: str, *, extract: bool = False) -> Completion:
    prompt = EXTRACTION if extract else RATING
    return LexicalLLM().reply(Request(prompt.render({"question": text, "context": passage}), prompt.labels))


def rate(text: str, passage: str) -> int:
    return int(lexical(text, passage).text)


def test_tokens_keep_numbers_whole_and_content_stems_drop_stop_words_and_endings() -> None:
    assert tokens("It's 3.5 km, or 4,000 m; COVID-19.") == [
        "it", "s", "3.5", "km", "or", "4,000", "m", "covid", "19",
    ]  # fmt: skip
    assert content_stems("What were the workers building?") == ["worker", "build"]


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("返品は30日以内です。", ["返品", "品は", "30", "日以", "以内", "内で", "です"]),
        ("반품은 30일", ["반품", "품은", "30", "일"]),
        ("ในประเทศ", ["ใน", "นป", "ปร", "ระ", "ะเ", "เท", "ทศ"]),
        ("مُحَمَّدٌ نعم", ["محمد", "نعم"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("１２ ｋｍ e\u0301te\u0301", ["12", "km", "été"]),
    ],
    ids=["kanji and kana", "Hangul", "Thai", "vowel points", "vowel signs", "equal signs"],
)
def test_words_of_all_scripts(text: str, stems: list[str]) -> None:
    assert content_stems(text) == stems


FRANCS = "It cost 123456 francs."
FRAMED = "What is the significance of bees?"


@pytest.mark.parametrize(
    ("entry", "text", "share"),
    [
        ("mosquittoes", PASSAGES[1], 1),
        ("mosaic", PASSAGES[1], 0),
        ("123457", FRANCS, 0),
        (FRAMED, "significance", 0.166667),
        (FRAMED, "bees", 0.833333),
        ("bees and wasps", "bees", 0.5),
        ("返品は30日以内", "30日", 0.2),
        ("…", "bees", 0),
    ],
    ids=[
        "misspelt", "another word", "another number", "framing word", "its topic", "half", "Japanese",
        "no word",
    ],
)  # fmt: skip
def test_coverage_is_the_weighted_share_of_words(entry: str, text: str, share: float) -> None:
    assert coverage(entry, text) == share


def test_best_sentence_is_the_extraction() -> None:
    reply = lexical("Which diseases did the canal workers die of?", PASSAGES[0], extract=True)
    assert reply.text == "Workers died of malaria and yellow fever."
    assert lexical("Where do bees dance?", PASSAGES[3], extract=True).text == "unanswerable"


@pytest.mark.parametrize("passage", PASSAGES)
@pytest.mark.parametrize(
    "question", ["Where do bees dance?", "When was malaria reduced by draining?", "What heats a house?"]
)
def test_extraction_agrees_with_the_rating(question: str, passage: str) -> None:
    """A rating of at least 3 has an extracted answer; a lower rating does not."""
    extracted = lexical(question, passage, extract=True).text
    assert (extracted != "unanswerable") == (rate(question, passage) >= 3)


@given(WORDS, WORDS)
def test_evidence_is_a_share(entry: str, passage: str) -> None:
    assert 0 <= coverage(entry, passage) <= 1


@given(st.floats(0, 1))
def test_levels_round_to_the_rating_of_the_thresholds(evidence: float) -> None:
    expected = sum(evidence >= threshold for threshold in THRESHOLDS)
    assert min(int(rating_level(evidence) + 0.5), 5) == expected
    assert (rating_level(0), rating_level(1)) == (-0.5, 5.5)


def test_soft_grade_peaks_at_the_rating_and_follows_the_evidence() -> None:
    strong = lexical("When was the Panama Canal finished?", PASSAGES[0])
    weak = lexical("When was the Panama Canal widened by workers of Spain, France and Peru?", PASSAGES[0])
    for reply in (strong, weak):
        assert math.fsum(map(math.exp, reply.label_logprobs)) == pytest.approx(1)
        assert max(range(6), key=reply.label_logprobs.__getitem__) == int(reply.text)
    expected = [soft.expected for r in (strong, weak) if (soft := soft_grade(r.label_logprobs))]
    assert expected[0] > expected[1]


def test_unsupported_prompts_are_errors_of_their_completions() -> None:
    reply = LexicalLLM().reply(Request((Part("Write ten questions about "), Part("bees", "query"))))
    assert reply.text == ""
    assert reply.error is not None
    assert "baseline" in reply.error


# Random and constant baselines, which share a base class with the lexical grader

NUGGET_RATING = PROMPTS.get("NuggetSelfRatedPrompt")
PASSAGE = "Tides rise twice a day. The Moon pulls the oceans. Ships wait for high water."
BASELINES = ["random", "constant", "lexical"]


def rating(text: str = "What causes tides?", passage: str = PASSAGE, *, soft: bool = True) -> Request:
    parts = RATING.render({"question": text, "context": passage})
    return Request(parts, RATING.labels if soft else ())


def extraction(text: str = "What causes tides?", passage: str = PASSAGE) -> Request:
    return Request(EXTRACTION.render({"question": text, "context": passage}))


def answers(name: str, requests: list[Request]) -> list[Completion]:
    return ask(ModelOptions(name), requests)


@pytest.mark.parametrize("name", BASELINES)
def test_rating_does_not_depend_on_the_request_for_likelihoods(name: str) -> None:
    """A request without soft grades has no labels, so the scale is read from the text of the prompt."""
    soft, hard = answers(name, [rating(), rating(soft=False)])
    assert {soft.text, hard.text} <= set(RATING.labels)
    assert (hard.label_logprobs, hard.error) == ((), None)
    assert name == "random" or hard.text == soft.text  # its draw depends on the whole request


@pytest.mark.parametrize("name", BASELINES)
def test_extractions_are_spans_or_unanswerable(name: str) -> None:
    passages = [PASSAGE, "One sentence about tides", "", "!!!", "Tides?\n\nMoon: “Yes.” No."]
    for passage, reply in zip(
        passages, answers(name, [extraction(passage=p) for p in passages]), strict=True
    ):
        assert reply.text == "unanswerable" or (reply.text and reply.text in passage)


def test_random_is_deterministic_and_uses_the_whole_scale() -> None:
    requests = [rating(f"Question {number}?") for number in range(300)]
    first = answers("random", requests)
    assert first == answers("random", requests)
    counts = Counter(reply.text for reply in first)
    assert set(counts) == set(RATING.labels)
    assert min(counts.values()) > 25


def test_constant_gives_the_middle() -> None:
    assert [r.text for r in answers("constant", [rating(), rating("Who?", "Nothing.")])] == ["3", "3"]
    assert answers("constant", [extraction()])[0].text == "Tides rise twice a day."


def test_scale_is_read_from_the_text_of_published_prompts() -> None:
    assert answer_scale(rating(soft=False)) == ("0", "1", "2", "3", "4", "5")
    nugget = Request(NUGGET_RATING.render({"nugget": "tides", "context": "- 9: no scale line"}))
    assert answer_scale(nugget) == ("0", "1", "2", "3", "4", "5")
    assert answer_scale(extraction()) == ()


def test_entry_is_compared_with_the_passage() -> None:
    assert entry_of(rating("Why?")) == ("question", "Why?")
    nugget = Request(NUGGET_RATING.render({"nugget": "the Moon", "context": PASSAGE}))
    assert entry_of(nugget) == ("nugget", "the Moon")
    assert entry_of(Request((Part("text only"),))) is None


def test_sentences_keep_decimals_and_quotes() -> None:
    text = 'It is 3.5 km away. He said "Stop." Then it ended!\nNew line'
    assert plain_sentences(text) == ["It is 3.5 km away.", 'He said "Stop."', "Then it ended!", "New line"]


@given(st.text())
def test_sentences_are_spans_with_all_text_except_white_space(text: str) -> None:
    spans = plain_sentences(text)
    assert all(span in text and span == span.strip() and span for span in spans)
    assert "".join("".join(spans).split()) == "".join(text.split())
