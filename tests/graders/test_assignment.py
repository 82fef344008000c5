"""Nugget assignment: lists of ten, replies without a list, unknown labels, empty answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import Nugget
from exam_pp.data_model import RubricGrades
from exam_pp.graders.base import PassageUnit
from exam_pp.graders.listwise import WRONG_LENGTH
from exam_pp.graders.make import make_grader
from exam_pp.llm.fake import FakeLLM
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.scheduler import Answerer, run_requests
from exam_pp.prompts import PROMPTS
from exam_pp.prompts.reading import NOT_A_LABEL
from exam_pp.store.passages.journal import Journal

LISTWISE = "NuggetAssignment"
POINTWISE = "NuggetAssignmentPointwise"


def unit(count: int, text: str = "The Moon pulls the oceans.") -> PassageUnit:
    entries = [Nugget(query_id="q1", nugget_id=f"q1/{i}", nugget_text=f"nugget {i}") for i in range(count)]
    return PassageUnit("q1", "what causes tides", "p1", text, entries)


def assign(
    passage: PassageUnit, reply: Callable[[Request], Completion | str], name: str = LISTWISE, repairs: int = 2
) -> tuple[RubricGrades, FakeLLM]:
    llm = FakeLLM(reply)
    grader = make_grader(PROMPTS.get(name), "m", {}, repairs=repairs)
    (grades,) = run_requests([grader.run(passage)], Answerer(llm, Journal(None)))
    assert isinstance(grades, RubricGrades)
    return grades, llm


def nuggets(request: Request) -> list[str]:
    listed: list[str] = json.loads(request.slot("nuggets") or "")
    return listed


def labels(grades: RubricGrades) -> dict[str, str]:
    return {item.nugget_id: item.assignment for item in grades.assignments or ()}


def all_support(request: Request) -> str:
    return str(["support"] * len(nuggets(request)))


def test_calls_list_ten_nuggets_in_order() -> None:
    sizes: list[int] = []

    def reply(request: Request) -> str:
        sizes.append(len(nuggets(request)))
        assert request.parts[0].role == "system"
        assert request.slot("query") == "what causes tides"
        assert request.slot("context") == "The Moon pulls the oceans."
        assert request.slot("count") == str(sizes[-1])
        odd = [int(text.split()[1]) % 2 for text in nuggets(request)]
        return json.dumps(["partial_support" if each else "support" for each in odd])

    grades, _ = assign(unit(23), reply)
    assert sizes == [10, 10, 3]
    assert labels(grades) == {f"q1/{i}": "partial_support" if i % 2 else "support" for i in range(23)}
    assert grades.entry_ratings() == {f"q1/{i}": 1 if i % 2 else 2 for i in range(23)}
    assert grades.prompt_type == "nugget"
    assert grades.prompt_class == LISTWISE
    assert grades.relevance_label == 2


@pytest.mark.parametrize(
    ("name", "reply", "ratings"),
    [
        (LISTWISE, '["support", "partial_support", "not_support"]', [2, 1, 0]),
        ("NuggetAssignment2", "['support', 'not_support']", [2, 0]),
    ],
)
def test_supported_and_partially_supported_nuggets_are_correct(
    name: str, reply: str, ratings: list[int]
) -> None:
    grades, _ = assign(unit(len(ratings)), lambda request: reply, name)
    assert list(grades.entry_ratings().values()) == ratings
    assert grades.correct == [f"q1/{i}" for i, rating in enumerate(ratings) if rating]
    assert grades.wrong == [f"q1/{len(ratings) - 1}"]


@pytest.mark.parametrize(
    "wrong", ['["support"]', str(["support"] * 13), "Sure, I can help.", "", '["support", "nearly"]']
)
def test_a_wrong_list_is_requested_again(wrong: str) -> None:
    def reply(request: Request) -> str:
        if request.slot("reply") is None:
            return wrong
        assert request.slot("reply") == wrong
        assert [part.role for part in request.parts][-2:] == ["user", "user"]
        assert "support" in request.text
        return '["support", "not_support"]'

    grades, llm = assign(unit(2), reply)
    assert labels(grades) == {"q1/0": "support", "q1/1": "not_support"}
    assert llm.calls == 2
    assert grades.errors == {}


def test_lists_with_too_many_labels_are_not_truncated() -> None:
    grades, llm = assign(unit(2), lambda request: '["support", "support", "support"]')
    assert llm.calls == 3, "one call and two repeated calls"
    assert labels(grades) == {}
    assert grades.entry_ratings() == {}
    for nugget in ("q1/0", "q1/1"):
        error = grades.error_of(nugget)
        assert error is not None
        assert (error["failure_reason"], error["response"]) == (
            WRONG_LENGTH, '["support", "support", "support"]'
        )  # fmt: skip
        assert '"nugget 0", "nugget 1"' in error["prompt"]


@pytest.mark.parametrize(
    ("name", "count", "reply", "calls", "known"),
    [
        (
            LISTWISE,
            3,
            '["support", "Mostly so", "not_support"]',
            2,
            {"q1/0": "support", "q1/2": "not_support"},
        ),
        (POINTWISE, 2, "Mostly so", 2, {}),
    ],
)
def test_an_unknown_label_is_an_error_of_its_nugget(
    name: str, count: int, reply: str, calls: int, known: dict[str, str]
) -> None:
    grades, llm = assign(unit(count), lambda request: reply, name, repairs=1)
    assert (llm.calls, labels(grades)) == (calls, known)
    error = grades.error_of("q1/1")
    assert error is not None
    assert (error["failure_reason"], error["response"]) == (NOT_A_LABEL, "Mostly so")
    assert "q1/1" not in {*grades.correct, *grades.wrong, *grades.entry_ratings()}


def test_the_best_reply_counts_not_the_last() -> None:
    replies = iter(['["support", "what?"]', "no list at all", '["eh", "what?"]'])
    grades, _ = assign(unit(2), lambda request: next(replies))
    assert labels(grades) == {"q1/0": "support"}


def test_a_failed_call_is_an_error_of_its_list() -> None:
    def reply(request: Request) -> Completion | str:
        if "nugget 0" in nuggets(request):
            return Completion(error="timed out")
        return all_support(request)

    grades, llm = assign(unit(12), reply)
    assert llm.calls == 2, "a failed call is not repeated"
    assert labels(grades) == {"q1/10": "support", "q1/11": "support"}
    assert isinstance(grades.errors, dict)
    assert {error["failure_reason"] for error in grades.errors.values()} == {"timed out"}


@pytest.mark.parametrize("name", [LISTWISE, "NuggetAssignment2", POINTWISE])
@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_answer_supports_nothing_without_a_call(name: str, text: str) -> None:
    def never(request: Request) -> str:
        raise AssertionError("unexpected call")

    grades, _ = assign(unit(12, text), never, name)
    assert set(labels(grades).values()) == {"not_support"}
    assert grades.entry_ratings() == {f"q1/{i}": 0 for i in range(12)}
    assert grades.answers == []
    assert grades.errors == {}


def test_pointwise_calls_have_one_nugget_and_likelihoods() -> None:
    def reply(request: Request) -> Completion:
        assert request.labels == ("not_support", "partial_support", "support")
        assert request.slot("query") == "what causes tides"
        return Completion("partial_support", label_logprobs=(-3.0, -0.1, -3.0))

    grades, llm = assign(unit(12), reply, POINTWISE)
    assert llm.calls == 12
    assert set(labels(grades).values()) == {"partial_support"}
    assert grades.self_ratings is not None
    assert {rating.expected for rating in grades.self_ratings} == {1.0}
    assert len(grades.self_ratings[0].probabilities or ()) == 3


def test_tokens_cut_are_recorded_for_every_nugget_of_a_list() -> None:
    grades, _ = assign(unit(2), lambda request: Completion(all_support(request), tokens_cut=7))
    assert grades.tokens_cut == {"q1/0": 7, "q1/1": 7}


REPLY_LABELS = st.sampled_from(["support", "partial_support", "not_support", "Support", "maybe", ""])


@given(st.integers(1, 25), st.data())
def test_every_nugget_is_graded_or_has_a_reason(count: int, data: Any) -> None:
    def reply(request: Request) -> str:
        size = len(nuggets(request)) + data.draw(st.sampled_from([0, 0, 0, -1, 1]))
        return json.dumps(data.draw(st.lists(REPLY_LABELS, min_size=max(0, size), max_size=max(0, size))))

    grades, _ = assign(unit(count), reply)
    assert isinstance(grades.errors, dict)
    all_nuggets = {f"q1/{i}" for i in range(count)}
    graded = set(grades.entry_ratings())
    assert graded == set(labels(grades)) == {*grades.correct, *grades.wrong}
    assert graded | set(grades.errors) == all_nuggets
    assert not graded & set(grades.errors)
