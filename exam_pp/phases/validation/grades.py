"""Checks of a single set of grades: ratings against lists and scale, and probabilities."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from exam_pp.banks import ASSIGNMENT_RATINGS
from exam_pp.data_model import DirectGrade, RubricGrades
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.text.wording import counted

Note = Callable[[str, str, str], None]
"""Adds a finding: name of the check, location on the line, message."""

_SOFT_TOLERANCE = 0.01


def check_grades(grades: RubricGrades | DirectGrade, prompt_class: str, where: str, note: Note) -> None:
    """Add findings for the inconsistencies within a set of grades."""
    prompt = PROMPTS.find(prompt_class)
    max_rating = grades.max_rating if prompt is None else _highest_rating(prompt)
    if isinstance(grades, RubricGrades):
        _check_lists(grades, where, note)
        if prompt is not None and prompt.is_rated and not grades.is_rated and grades.graded_ids():
            note("no-ratings", where, "has lists of correct and wrong entries, but no ratings")
        _check_assignments(grades, where, note)
    elif grades.self_ratings is not None and grades.self_ratings <= 0 and grades.correct:
        note("rating-conflict", where, f"the passage is rated {grades.self_ratings}, but marked as correct")
    _check_scale(grades, max_rating, where, note)
    _check_soft(grades, max_rating, where, note)


def _check_lists(grades: RubricGrades, where: str, note: Note) -> None:
    """Compare the lists of correct and wrong entries with each other, the ratings and the replies."""
    correct, wrong = set(grades.correct), set(grades.wrong)
    for entry_id in sorted(correct & wrong):
        note("rating-conflict", where, f"{entry_id} is both correct and wrong")
    rated = [rating.entry_id for rating in grades.self_ratings or ()]
    answered = [entry_id for entry_id, _ in grades.answers]
    lists = [ids for ids in (grades.correct, grades.wrong, rated, answered) if len(set(ids)) < len(ids)]
    duplicates = (next(key for key, count in Counter(ids).items() if count > 1) for ids in lists)
    for entry_id in dict.fromkeys(duplicates):
        note("repeated-entry", where, f"{entry_id} is listed twice")
    if grades.self_ratings is None:
        return
    ratings: dict[str, list[int]] = defaultdict(list)  # several for a duplicate entry
    for rating in grades.self_ratings:
        ratings[rating.entry_id].append(rating.self_rating)
    for entry_id, values in ratings.items():
        if entry_id not in correct and entry_id not in wrong:
            note(
                "rating-conflict",
                where,
                f"{entry_id} is rated {values[0]}, but is not listed as correct or wrong",
            )
        elif entry_id in correct and max(values) <= 0:
            note("rating-conflict", where, f"{entry_id} is rated {values[0]}, but is listed as correct")
    for entry_id in sorted((correct | wrong) - set(rated)):
        note("rating-conflict", where, f"{entry_id} is listed as correct or wrong, but has no rating")


def _check_assignments(grades: RubricGrades, where: str, note: Note) -> None:
    if not grades.assignments:
        return
    rated = {(rating.entry_id, rating.self_rating) for rating in grades.self_ratings or ()}
    for item in grades.assignments:
        rating = ASSIGNMENT_RATINGS.get(item.assignment)
        if rating is None:
            note("assignment", where, f"{item.nugget_id} has the unknown assignment {item.assignment!r}")
        elif (item.nugget_id, rating) not in rated:
            note(
                "assignment",
                where,
                f"{item.nugget_id} has the assignment {item.assignment}, but not the rating {rating}",
            )


def _check_scale(grades: RubricGrades | DirectGrade, max_rating: int | None, where: str, note: Note) -> None:
    if not grades.is_rated:
        return
    for entry_id, rating in grades.entry_ratings().items():
        if rating < 0 or (max_rating is not None and rating > max_rating):
            scale = "below 0" if rating < 0 else f"outside the scale of 0 to {max_rating}"
            note("rating-scale", where, f"{entry_id} is rated {rating}, {scale}")


def _highest_rating(prompt: Prompt) -> int | None:
    if prompt.max_rating is not None:
        return prompt.max_rating
    return len(prompt.choices) - 1 if prompt.choices else None


def _check_soft(grades: RubricGrades | DirectGrade, max_rating: int | None, where: str, note: Note) -> None:
    for entry_id, probabilities in grades.distributions().items():
        if min(probabilities, default=-1) < 0 or abs(sum(probabilities) - 1) > _SOFT_TOLERANCE:
            note("soft-grade", where, f"{entry_id} has probabilities that do not add up to 1")
        elif max_rating is not None and len(probabilities) != max_rating + 1:
            number = counted(len(probabilities), "probability", "probabilities")
            note("soft-grade", where, f"{entry_id} has {number} on a scale of 0 to {max_rating}")
