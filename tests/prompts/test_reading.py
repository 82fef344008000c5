"""Reading of replies: the papers' rule by a table of cases, thinking text, and properties of all replies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import Question
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.base import STILL_THINKING, ReadReply, Unparsed
from exam_pp.prompts.entry_list import plain_label, read_labels
from exam_pp.prompts.markup import without_thinking
from exam_pp.prompts.reading import (
    UNANSWERABLE,
    find_rating,
    find_yes_no,
    is_ill_formed,
    is_unanswerable,
    read_extraction,
    read_number,
    read_rating,
    read_yes_no,
)

CASES = json.loads((Path(__file__).parent / "cases" / "ratings.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", CASES["cases"], ids=lambda case: repr(case["reply"]))
def test_rating(case: dict[str, Any]) -> None:
    """The rule "ungraded" keeps numbers only."""
    highest = case.get("max_rating", CASES["max_rating"])
    verdict, strict = read_rating(case["reply"], highest), read_rating(case["reply"], highest, "ungraded")
    assert (verdict.rating, verdict.source) == (case["rating"], case["source"])
    assert verdict.correct == (case["rating"] > 0)
    is_number = case["source"] == "number"
    assert (strict.rating, strict.reason is None) == (case["rating"] if is_number else None, is_number)


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("4", 4),
        (" 4.", 4),
        ("**4**", 4),
        ("7", 0),
        ("Paris", 0),
        ("unanswerable", 1),
        ("", 1),
        ("a.", 1),
        ("Rating: 4", 0),
        ("a", 0),
        ("iv", 0),
        ("unanswerable</s>", 0),
        ("<answer>4</answer>", 0),
    ],
)
def test_the_published_rule(reply: str, rating: int) -> None:
    """The published code has swapped defaults; the rule only reproduces old numbers."""
    assert read_rating(reply, 5, "published").rating == rating


LOOP = 200_000


@pytest.mark.parametrize(
    "reply",
    [
        "1{}2",
        "1. a{}",
        "answer{}x",
        "answer is{}x",
        "1 {}({}",
        "Rating{}x",
        "1 -{}2",
        '{"rating{}":x',
        '{"a":"{}',
    ],
)
@pytest.mark.parametrize("piece", ["\n", " ", "*", "\t\n"])
def test_long_repetitive_replies_are_read_in_linear_time(reply: str, piece: str) -> None:
    """Quadratic time would take an hour here."""
    looped = reply.replace("{}", piece * LOOP)
    assert find_rating(looped, 5) in (None, 1)
    assert find_yes_no(looped) is None


@given(st.text(max_size=40), st.integers(1, 9), st.sampled_from(["default", "ungraded", "published"]))
def test_any_reply_is_read(reply: str, max_rating: int, unparsed: Unparsed) -> None:
    verdict = read_rating(reply, max_rating, unparsed)
    if verdict.rating is None:
        assert unparsed == "ungraded"
        assert verdict.reason
    else:
        assert 0 <= verdict.rating <= max_rating
        assert verdict.correct == (verdict.rating > 0)


@given(st.text("0123456789 .,:;-/*()\"'\n%abofutRing", max_size=25), st.integers(1, 9))
def test_replies_made_of_digits_and_marks_are_read(reply: str, max_rating: int) -> None:
    rating = find_rating(reply, max_rating)
    assert rating is None or 0 <= rating <= max_rating
    read_extraction(reply)


@given(
    st.integers(0, 5),
    st.sampled_from(["{}", " {}.", "**{}**", "{}/5", "Rating: {}", "{}: because", "the answer is {}"]),
)
def test_every_rating_in_every_form(rating: int, form: str) -> None:
    assert find_rating(form.format(rating), 5) == rating


@given(st.integers(6, 999))
def test_numbers_outside_the_scale_are_text(number: int) -> None:
    assert read_rating(str(number), 5).source == "default-1"


@pytest.mark.parametrize("phrase", UNANSWERABLE)
@pytest.mark.parametrize("form", ["{}", "{}.", " {}\n", '"{}"', "{}!", "({})"])
def test_unanswerable(phrase: str, form: str) -> None:
    assert is_unanswerable(form.format(phrase))
    assert is_unanswerable(form.format(phrase.upper()))


@pytest.mark.parametrize(
    "reply",
    [
        "Nicht beantwortbar.", "Pas assez d'informations", "No se puede responder.", "sem resposta",
        "Senza risposta", "недостаточно информации", "无法回答。", "回答できません。", "لا يمكن الإجابة",
        "कोई उत्तर नहीं", "답변 불가", "Die Frage kann nicht beantwortet werden.", "没有相关信息。",
        "情報がありません。", "Нет информации", "No hay información.", "لا توجد معلومات",
    ],
)  # fmt: skip
def test_unanswerable_in_other_languages(reply: str) -> None:
    assert read_rating(reply, 5) == read_rating(reply, 5, "chat") == ReadReply(0, False, "default-0")


@pytest.mark.parametrize(
    "reply", ["nothing", "Norway", "no one knows", "note", "now", "the answer is unknown"]
)
def test_answerable(reply: str) -> None:
    """An edit distance of 20 % or more of the longer string is not a match."""
    assert not is_unanswerable(reply)


def test_distance_is_below_20_percent() -> None:
    assert is_unanswerable("unanswerab"), "2 of 12 characters"
    assert not is_unanswerable("unanswera"), "3 of 12 characters"
    assert not is_unanswerable("it does not fit"), "3 of 15 characters are 20 percent"


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        (["", " ", "a", "a.", "(iii)", "B)", "iv.", "...", "x:"], True),
        (["ab", "a b", "4", "he", "(a) Paris", "USA"], False),
    ],
)
def test_ill_formed(replies: list[str], expected: bool) -> None:
    assert [is_ill_formed(reply) for reply in replies] == [expected] * len(replies)


def cases(name: str) -> list[dict[str, Any]]:
    return list(json.loads((Path(__file__).parent / "cases" / name).read_text(encoding="utf-8"))["cases"])


@pytest.mark.parametrize("case", cases("extractions.json"), ids=lambda case: repr(case["reply"]))
def test_extraction(case: dict[str, Any]) -> None:
    verdict = read_extraction(case["reply"])
    assert (verdict.rating, verdict.correct) == (None, case["answer"])


@pytest.mark.parametrize(
    ("reply", "answer"), [("Paris", True), ("unanswerable", True), ("", False), ("b)", False)]
)
def test_any_well_formed_reply_is_an_answer(reply: str, answer: bool) -> None:
    """The prompt class without "unanswerable"."""
    assert PROMPTS.get("QuestionCompleteConcisePrompt").parse(reply, None, "default").correct == answer


@pytest.mark.parametrize(("golds", "correct"), [([], True), (["Paris"], False)])
def test_an_empty_span_means_that_there_is_no_answer(golds: list[str], correct: bool) -> None:
    entry = Question(query_id="q", question_id="q/a", question_text="Where?", gold_answers=golds)
    for name in ("QuestionExtractiveQAWithAnswerKey", "QuestionExtractiveQA"):
        verdict = PROMPTS.get(name).parse(" ", entry, "default")
        assert (verdict.correct, verdict.reason) == (correct and "Key" in name, None)


@pytest.mark.parametrize("case", cases("yes_no.json"), ids=lambda case: repr(case["reply"]))
def test_yes_no(case: dict[str, Any]) -> None:
    assert find_yes_no(case["reply"]) == case["yes"]
    verdict = read_yes_no(case["reply"])
    assert verdict.correct == bool(case["yes"])
    assert (verdict.reason is None) == (case["yes"] is not None)


@given(st.text(max_size=40))
def test_any_reply_to_a_yes_no_prompt_is_read(reply: str) -> None:
    assert find_yes_no(reply) in (True, False, None)


@given(st.text(max_size=20), st.integers(1, 9))
def test_replies_without_a_number_of_the_scale_are_ungraded(reply: str, max_rating: int) -> None:
    """The rule of the direct prompt Thomas."""
    verdict = read_number(reply, max_rating)
    if verdict.rating is None:
        assert verdict.reason
    else:
        assert 0 <= verdict.rating <= max_rating


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("4", "4"),
        ("<think>It may be 2.</think>4", "4"),
        ("<think>\n\n</think>\n\n4", "\n\n4"),
        ("<THINKING>2</Thinking> 4", " 4"),
        ("It may be 2.\n</think>\n4", "\n4"),  # the chat template writes <think> into the prompt
        ("<think>2</think><think>3</think>4", "4"),
        ("<think>It may be 2", None),
        ("<think>2</think>\n<think>or 3", None),
        ("I <think> so", "I <think> so"),
        ("[THINK]2[/THINK]4", "4"),
        ("[THINK]2", None),
        ("<|channel>thought\n2<channel|>4", "4"),
    ],
)
def test_without_thinking(reply: str, text: str | None) -> None:
    assert without_thinking(reply) == text


@pytest.mark.parametrize("unparsed", ["default", "ungraded", "published"])
@pytest.mark.parametrize(
    ("name", "reply", "rating", "correct"),
    [
        ("QuestionSelfRatedUnanswerablePromptWithChoices", "<think>Rating: 2?</think>\n\n4", 4, True),
        ("Thomas", "<think>0?</think>2", 2, True),
        ("GradedRelevance", "<think>final score: 0</think>##final score: 3", 3, True),
        ("NuggetAssignmentPointwise", "<think>not_support?</think>\nsupport", 2, True),
        ("FagB", "<think>No?</think>Yes", None, True),
        (
            "QuestionCompleteConciseUnanswerablePromptWithChoices",
            "<think>hm</think>unanswerable",
            None,
            False,
        ),
        ("QuestionCompleteConcisePromptWithAnswerKey2", "<think>fall or</think> rise", None, True),
    ],
)
def test_replies(name: str, reply: str, rating: int | None, correct: bool, unparsed: Unparsed) -> None:
    entry = Question(query_id="q", question_id="q/1", question_text="Q?", gold_answers=["rise"])
    verdict = PROMPTS.get(name).parse(reply, entry, unparsed)
    assert (verdict.rating, verdict.correct) == (rating, correct)
    assert rating is None or verdict.source == "number"


@pytest.mark.parametrize("prompt", ["QuestionSelfRatedPrompt", "FagB", "QuestionGenerationDL"])
def test_thinking_text_without_an_end_stays_ungraded(prompt: str) -> None:
    verdict = PROMPTS.get(prompt).parse("<think>It may be 4, yes", None, "default")
    assert (verdict.rating, verdict.correct, verdict.reason) == (None, False, STILL_THINKING)


def test_labels() -> None:
    assert plain_label("<think>support\nor not</think>\nNot Support") == "not_support"
    assert read_labels("<think>[1]") is None
