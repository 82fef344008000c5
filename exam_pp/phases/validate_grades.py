"""Validate: what one set of grades says of itself, against its lists, its scale and its summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from exam_pp.data_model import DirectGrade, RubricGrades, SelfRating
from exam_pp.grade_filter import GradeKey
from exam_pp.prompts import PROMPTS

Note = Callable[[str, str, str], None]
"""Takes a check, a place on the line, and words."""

_TOLERANCE = 0.001
"""For ratios that files have rounded."""
_SOFT_TOLERANCE = 0.01


def check_grades(grades: RubricGrades | DirectGrade, where: str, note: Note) -> None:
    """Note what is wrong with a set of grades, by itself."""
    if isinstance(grades, RubricGrades):
        _check_lists(grades, where, note)
        _check_summary(grades, where, note)
    _check_scale(grades, where, note)
    _check_soft(grades, where, note)


def _check_lists(grades: RubricGrades, where: str, note: Note) -> None:
    """The lists of correct and wrong entries against each other, the ratings and the replies."""
    correct, wrong = set(grades.correct), set(grades.wrong)
    for entry_id in sorted(correct & wrong):
        note("rating-conflict", where, f"{entry_id} is both correct and wrong")
    rated = [rating.entry_id for rating in grades.self_ratings or ()]
    answered = [entry_id for entry_id, _ in grades.answers]
    for ids in (grades.correct, grades.wrong, rated, answered):
        if len(set(ids)) < len(ids):
            twice = next(entry_id for entry_id, count in Counter(ids).items() if count > 1)
            note("repeated-entry", where, f"{twice} is listed twice")
    failed = grades.errors.keys() if isinstance(grades.errors, dict) else set()
    for entry_id in dict.fromkeys(answered):
        if entry_id not in correct and entry_id not in wrong and entry_id not in failed:
            note("unknown-answer", where, f"{entry_id} has a reply, but is neither correct nor wrong")
    if grades.self_ratings is None:
        return
    for rating in grades.self_ratings:
        if rating.entry_id not in correct and rating.entry_id not in wrong:
            words = f"{rating.entry_id} is rated {rating.self_rating}, but neither correct nor wrong"
            note("rating-conflict", where, words)
        elif rating.self_rating <= 0 and rating.entry_id in correct:
            note("rating-conflict", where, f"{rating.entry_id} is rated {rating.self_rating}, but correct")
    above = [rating for rating in grades.self_ratings if rating.self_rating > 0 and rating.entry_id in wrong]
    if above:
        rating = above[0]
        words = (
            f"{rating.entry_id}, rated {rating.self_rating}, is listed as wrong ({len(above)} such entries)"
        )
        note("wrong-above-0", where, words)
    for entry_id in sorted((correct | wrong) - set(rated)):
        note("rating-conflict", where, f"{entry_id} is correct or wrong, but has no rating")


def _check_summary(grades: RubricGrades, where: str, note: Note) -> None:
    asked = len(grades.correct) + len(grades.wrong)
    if grades.exam_ratio is not None and asked:
        ratio = len(grades.correct) / asked
        if abs(ratio - grades.exam_ratio) > _TOLERANCE:
            note("summary", where, f"exam_ratio is {grades.exam_ratio:g}, but {ratio:.3f} are correct")
    if grades.relevance_label is not None and asked:
        ratings = [rating.self_rating for rating in grades.self_ratings or ()]
        label = max(ratings, default=0) if grades.is_rated else len(grades.correct)
        if grades.relevance_label != label:
            note("summary", where, f"relevance_label is {grades.relevance_label}, but should be {label}")


def _check_scale(grades: RubricGrades | DirectGrade, where: str, note: Note) -> None:
    if not grades.is_rated:
        return
    most = _highest(GradeKey.of(grades).prompt_class)
    for entry_id, rating in grades.entry_ratings().items():
        if rating < 0 or (most is not None and rating > most):
            scale = "below 0" if rating < 0 else f"outside the scale of 0 to {most}"
            note("rating-scale", where, f"{entry_id} is rated {rating}, {scale}")


def _highest(prompt_class: str) -> int | None:
    """The highest rating of a prompt; None for prompts that we do not know."""
    prompt = PROMPTS.get(prompt_class) if prompt_class in PROMPTS else None
    if prompt is None:
        return None
    if prompt.max_rating is not None:
        return prompt.max_rating
    return len(prompt.choices) - 1 if prompt.choices else None


def _check_soft(grades: RubricGrades | DirectGrade, where: str, note: Note) -> None:
    soft: Sequence[SelfRating | DirectGrade]
    soft = [grades] if isinstance(grades, DirectGrade) else grades.self_ratings or []
    for grade in soft:
        probabilities = grade.probabilities
        if probabilities is None:
            continue
        name = grade.entry_id if isinstance(grade, SelfRating) else "the grade"
        if min(probabilities, default=-1) < 0 or abs(sum(probabilities) - 1) > _SOFT_TOLERANCE:
            note("soft-grade", where, f"the probabilities of {name} do not add up to 1")
            continue
        mean = sum(grade_ * p for grade_, p in enumerate(probabilities))
        if grade.expected is not None and abs(mean - grade.expected) > _SOFT_TOLERANCE * len(probabilities):
            note("soft-grade", where, f"{name} is expected at {grade.expected:g}, but the mean is {mean:.3f}")
