"""Grades by people: the same records as those of models, with the model ``human:NAME``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from exam_pp.data_model import DIRECT_ID, DirectGrade, NuggetAssignment, Passage, RubricGrades, SelfRating
from exam_pp.edits import HumanRating
from exam_pp.grade_filter import GradeKey
from exam_pp.phases.review.rating_scale import Step
from exam_pp.test_bank import ASSIGNMENT_RATINGS, EntryKind

G = TypeVar("G", RubricGrades, DirectGrade)


@dataclass(frozen=True)
class RatedClass:
    """The prompt class that people rated, and what its grades look like.

    ``is_rated`` tells ratings from right and wrong, ``is_direct`` grades of passages as a whole; with
    ``assigns`` labels of nuggets stand beside the ratings.
    """

    name: str
    steps: Sequence[Step]
    kind: EntryKind
    is_rated: bool
    is_direct: bool
    assigns: bool

    def holds(self, grades: RubricGrades | DirectGrade) -> bool:
        """Whether grades were made with this prompt."""
        return GradeKey.of(grades).prompt_class == self.name


def add_ratings(passage: Passage, grader: str, rated: RatedClass, given: Sequence[HumanRating]) -> None:
    """Give a passage a person's ratings, together with those that the same person gave before."""
    ratings = {rating.entry_id: rating.rating for rating in given}
    comments = {rating.entry_id: rating.comment for rating in given if rating.comment is not None}

    def earlier(grades: RubricGrades | DirectGrade) -> bool:
        return grades.model == grader and rated.holds(grades)

    if rated.is_direct:
        grade = _direct(grader, rated, ratings[DIRECT_ID], comments)
        passage.direct_grades = _put(grade, passage.direct_grades or (), earlier)
        return
    before = [grades for grades in passage.rubric_grades or () if earlier(grades)]
    for grades in reversed(before):
        kept = {key: text for key, text in (grades.comments or {}).items() if key not in ratings}
        ratings, comments = grades.entry_ratings() | ratings, kept | comments
    passage.rubric_grades = _put(
        _rubric(grader, rated, ratings, comments), passage.rubric_grades or (), earlier
    )


def _put(new: G, grades: Sequence[G], replaces: Callable[[G], bool]) -> list[G]:
    """The grades with ``new`` where the first stood that it replaces, or at the end."""
    place: int = next((at for at, old in enumerate(grades) if replaces(old)), len(grades))
    found = list(grades[:place])
    found.append(new)
    found.extend(old for old in grades[place:] if not replaces(old))
    return found


def _provenance(grader: str, rated: RatedClass, prompt_type: str) -> dict[str, Any]:
    return {
        "model": grader,
        "model_options": {},
        "prompt_info": {"prompt_class": rated.name, "is_self_rated": rated.is_rated},
        "prompt_type": prompt_type,
    }


def _rubric(
    grader: str, rated: RatedClass, ratings: Mapping[str, int], comments: Mapping[str, str]
) -> RubricGrades:
    correct = [key for key, rating in ratings.items() if rating > 0]
    values = _provenance(grader, rated, rated.kind) | {
        "correct": correct,
        "wrong": [key for key in ratings if key not in correct],
        "answers": [],
        "errors": {},
        "exam_ratio": len(correct) / len(ratings),
        "relevance_label": max(ratings.values()) if rated.is_rated else len(correct),
    }
    if rated.is_rated:
        values["self_ratings"] = [
            SelfRating(**{f"{rated.kind}_id": key}, self_rating=rating, source="human")
            for key, rating in ratings.items()
        ]
    if rated.assigns:
        labels = {rating: label for label, rating in ASSIGNMENT_RATINGS.items()}
        values["assignments"] = [
            NuggetAssignment(nugget_id=key, assignment=labels[rating]) for key, rating in ratings.items()
        ]
    return RubricGrades(**values, **_noted(comments))


def _direct(grader: str, rated: RatedClass, rating: int, comments: Mapping[str, str]) -> DirectGrade:
    values = _provenance(grader, rated, "direct_grading") | {
        "correct": rating > 0,
        "answer": "",
        "relevance_label": rating,
    }
    if rated.is_rated:
        values["self_ratings"] = rating
    return DirectGrade(**values, **_noted(comments))


def _noted(comments: Mapping[str, str]) -> dict[str, Any]:
    return {"comments": dict(comments)} if comments else {}
