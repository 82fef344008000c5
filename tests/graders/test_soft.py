"""Soft grades against numbers computed by hand, and contextual calibration of choices."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.banks import Question
from exam_pp.data_model import RubricGrades, SelfRating
from exam_pp.graders.base import PassageUnit
from exam_pp.graders.make import make_grader
from exam_pp.graders.soft import CONTENT_FREE, calibrated, soft_grade
from exam_pp.llm_requests import Completion, Request
from exam_pp.phases.grading.scheduler import run_requests
from exam_pp.prompts.rubric import QUESTION_SELF_RATED


def logs(*probabilities: float) -> tuple[float, ...]:
    return tuple(math.log(p) if p else -math.inf for p in probabilities)


def test_a_scale_of_six_by_hand() -> None:
    """The labels have a probability of .6 together; renormalised: .1 .0 .1 .1 .4 .3."""
    soft = soft_grade(logs(0.06, 0.0, 0.06, 0.06, 0.24, 0.18))
    assert soft is not None
    assert soft.probabilities == [0.1, 0.0, 0.1, 0.1, 0.4, 0.3]
    assert soft.expected == pytest.approx(0.1 * 2 + 0.1 * 3 + 0.4 * 4 + 0.3 * 5)
    assert soft.margin == pytest.approx(0.1)


def test_likelihoods_below_the_smallest_float() -> None:
    assert soft_grade((-2000.0, -2000.0 + math.log(3))) == (0.75, 0.5, [0.25, 0.75], 0.0)


@pytest.mark.parametrize(
    "logprobs",
    [(), (-1.0,), (-math.inf,) * 6, (math.nan, -1.0), (-1.0, math.nan), (-1.0, math.inf)],
)
def test_unknown_likelihoods_give_no_soft_grade(logprobs: tuple[float, ...]) -> None:
    assert soft_grade(logprobs) is None


LOGPROBS = st.lists(st.floats(-20, -0.1), min_size=6, max_size=6)
ENTRY = Question(query_id="q", question_id="e", question_text="What makes tides?")
UNIT = PassageUnit("q", "tides", "p", "The moon makes tides.", [ENTRY])


def rating(reply: Completion, prior: Completion) -> tuple[int | None, RubricGrades, list[Request]]:
    """The rating and all requests of a grading with these likelihoods, with and without the passage."""
    asked: list[Request] = []

    def answer(requests: Sequence[Request]) -> list[Completion]:
        asked.extend(requests)
        return [prior if request.slot("context") == CONTENT_FREE else reply for request in requests]

    grader = make_grader(QUESTION_SELF_RATED, "m", {})
    (grades,) = run_requests([calibrated(grader.run(UNIT))], answer)
    assert isinstance(grades, RubricGrades)
    return grades.entry_ratings().get("e"), grades, asked


def soft(grades: RubricGrades) -> SelfRating:
    (item,) = grades.self_ratings or []
    return item


def choice(*logprobs: float) -> Completion:
    best = max(range(6), key=logprobs.__getitem__)
    return Completion(str(best), label_logprobs=logprobs, definition="choice")


def test_a_label_that_the_model_always_prefers() -> None:
    """By hand: .1/.1, .5/.6, .1/.1, .2/.05, ... : the label 3 has the highest ratio, 4."""
    reply = choice(*logs(0.1, 0.5, 0.1, 0.2, 0.05, 0.05))
    rated, grades, asked = rating(reply, choice(*logs(0.1, 0.6, 0.1, 0.05, 0.1, 0.05)))
    assert rated == 3
    item = soft(grades)
    ratios = [1, 5 / 6, 1, 4, 0.5, 1]
    assert item.probabilities == pytest.approx([r / sum(ratios) for r in ratios], abs=1e-4)
    assert (item.mass, item.definition) == (1.0, "calibrated")
    assert [request.slot("context") for request in asked] == [UNIT.text, CONTENT_FREE]
    assert [request.pairs for request in asked] == [1, 0]


@given(reply=LOGPROBS, constant=st.floats(-20, -0.1))
def test_a_model_without_preference_keeps_its_choice(reply: list[float], constant: float) -> None:
    prior = choice(*[constant] * 6)
    rated, grades, _ = rating(choice(*reply), prior)
    best = max(reply)
    assert rated in [grade for grade, value in enumerate(reply) if best - value < 1e-9]
    mass = min(1.0, math.fsum(map(math.exp, reply)))
    assert soft(grades).mass == pytest.approx(mass, abs=2e-4)


@pytest.mark.parametrize(
    ("reply", "prior", "message"),
    [
        (Completion(error="cut off"), choice(*logs(*[0.1] * 6)), "cut off"),
        (choice(*logs(*[0.1] * 6)), Completion(error="too long"), "too long"),
        (choice(*logs(*[0.1] * 6)), Completion("1"), "gives no likelihoods"),
        (choice(*[-math.inf] * 6), choice(*[-math.inf] * 6), "cannot be calibrated"),
    ],
)
def test_failures_leave_the_pair_ungraded(reply: Completion, prior: Completion, message: str) -> None:
    rated, grades, _ = rating(reply, prior)
    assert rated is None
    assert message in str(grades.error_of("e"))
