"""Human grades: records like those of models, with ``human:NAME`` as the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from exam_pp.data_model import DIRECT_ID, DirectGrade, NuggetAssignment, Passage, RubricGrades, SelfRating
from exam_pp.edits import HumanRating
from exam_pp.grade_filter import GradeKey
from exam_pp.phases.review.rating_scale import Step
from exam_pp.records import replace
from exam_pp.test_bank import ASSIGNMENT_RATINGS, EntryKind

G = TypeVar("G", RubricGrades, DirectGrade)


@dataclass(frozen=True)
class RatedClass:
    """The prompt class of human ratings, and the form of its grades.

    ``is_rated`` is True for a scale and False for right or wrong. ``is_direct`` marks direct grades. With
    ``assigns`` the grades also hold nugget assignments.
    """

    name: str
    steps: Sequence[Step]
    kind: EntryKind
    is_rated: bool
    is_direct: bool
    assigns: bool

    def holds(self, grades: RubricGrades | DirectGrade) -> bool:
        """Whether the grades have this prompt class."""
        return GradeKey.of(grades).prompt_class == self.name


def add_ratings(passage: Passage, grader: str, rated: RatedClass, new: Sequence[HumanRating]) -> None:
    """Add a reviewer's ratings to a passage, merged with earlier ratings by the same reviewer."""
    ratings = {rating.entry_id: rating.rating for rating in new}
    comments = {rating.entry_id: rating.comment for rating in new if rating.comment is not None}

    def earlier(grades: RubricGrades | DirectGrade) -> bool:
        return grades.model == grader and rated.holds(grades)

    if rated.is_direct:
        direct = _direct(grader, rated, ratings[DIRECT_ID], comments)
        passage.take(direct_grades=_put(direct, passage.direct_grades or (), earlier))
        return
    before = [grades for grades in passage.rubric_grades or () if earlier(grades)]
    for grades in reversed(before):
        kept = {key: text for key, text in (grades.comments or {}).items() if key not in ratings}
        ratings, comments = grades.entry_ratings() | ratings, kept | comments
    grade = _rubric(grader, rated, ratings, comments)
    passage.take(rubric_grades=_put(grade, passage.rubric_grades or (), earlier))


def _put(new: G, grades: Sequence[G], replaces: Callable[[G], bool]) -> list[G]:
    """Replace all grades with ``replaces(grades)`` by ``new``, at the first position, or at the end."""
    position: int = next((index for index, old in enumerate(grades) if replaces(old)), len(grades))
    updated = list(grades[:position])
    updated.append(new)
    updated.extend(old for old in grades[position:] if not replaces(old))
    return updated


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
            replace(SelfRating(self_rating=rating, source="human"), **{f"{rated.kind}_id": key})
            for key, rating in ratings.items()
        ]
    if rated.assigns:
        labels = {rating: label for label, rating in ASSIGNMENT_RATINGS.items()}
        values["assignments"] = [
            NuggetAssignment(nugget_id=key, assignment=labels[rating]) for key, rating in ratings.items()
        ]
    return RubricGrades(**values, **_comment_fields(comments))


def _direct(grader: str, rated: RatedClass, rating: int, comments: Mapping[str, str]) -> DirectGrade:
    values = _provenance(grader, rated, "direct_grading") | {
        "correct": rating > 0,
        "answer": "",
        "relevance_label": rating,
    }
    if rated.is_rated:
        values["self_ratings"] = rating
    return DirectGrade(**values, **_comment_fields(comments))


def _comment_fields(comments: Mapping[str, str]) -> dict[str, Any]:
    return {"comments": dict(comments)} if comments else {}
