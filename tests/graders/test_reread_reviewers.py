"""Rereading does not change ratings of reviewers or duplicate entries."""

from __future__ import annotations

from exam_pp.data_model import RubricGrades, SelfRating
from exam_pp.graders.reread import reread_rubric
from exam_pp.prompts import PROMPTS


def test_ratings_of_reviewers_do_not_change() -> None:
    prompt = PROMPTS.get("QuestionSelfRatedUnanswerablePromptWithChoices")
    grades = RubricGrades(
        correct=["a", "b"], wrong=[], answers=[("a", "2"), ("b", "2")], prompt_type="question",
        self_ratings=[
            SelfRating(question_id="a", self_rating=5, source="human"),
            SelfRating(question_id="b", self_rating=5),
        ],
    )  # fmt: skip
    again = reread_rubric(grades, prompt, "default")
    assert again.entry_ratings() == {"a": 5, "b": 2}
    assert [rating.source for rating in again.self_ratings or ()] == ["human", "reread"]
