"""Checks of a single set of grades: ratings against lists, scale, summary and probabilities."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import get_args

from exam_pp.data_model import DirectGrade, PromptKind, RubricGrades, SelfRating
from exam_pp.prompts import PROMPTS, Prompt
from exam_pp.test_bank import ASSIGNMENT_RATINGS
from exam_pp.wording import counted

Note = Callable[[str, str, str], None]
"""Adds a finding: name of the check, location on the line, message."""

_TOLERANCE = 0.001
"""Tolerance for ratios, which some files round."""
_SOFT_TOLERANCE = 0.01


def check_grades(grades: RubricGrades | DirectGrade, prompt_class: str, where: str, note: Note) -> None:
    """Add findings for the inconsistencies within a set of grades."""
    prompt = PROMPTS.find(prompt_class)
    max_rating = grades.max_rating if prompt is None else _highest_rating(prompt)
    if isinstance(grades, RubricGrades):
        _check_lists(grades, where, note)
        _check_summary(grades, where, note)
        _check_kind(grades, prompt, where, note)
        _check_assignments(grades, where, note)
    else:
        _check_direct(grades, where, note)
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
    failed = grades.errors.keys() if isinstance(grades.errors, dict) else set()
    for entry_id in dict.fromkeys(answered):
        if entry_id not in correct and entry_id not in wrong and entry_id not in failed:
            note("unknown-answer", where, f"{entry_id} has a reply, but is not listed as correct or wrong")
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
    above = [entry_id for entry_id in ratings if entry_id in wrong and min(ratings[entry_id]) > 0]
    if above:
        number = counted(len(above), "such entry", "such entries")
        message = f"{above[0]} is rated {ratings[above[0]][0]}, but is listed as wrong ({number})"
        note("wrong-above-0", where, message)
    for entry_id in sorted((correct | wrong) - set(rated)):
        note("rating-conflict", where, f"{entry_id} is listed as correct or wrong, but has no rating")


def _check_summary(grades: RubricGrades, where: str, note: Note) -> None:
    asked = len(grades.correct) + len(grades.wrong)
    if grades.exam_ratio is not None and asked:
        ratio = len(grades.correct) / asked
        if abs(ratio - grades.exam_ratio) > _TOLERANCE:
            note("summary", where, f"exam_ratio is {grades.exam_ratio:g}, but should be {ratio:.3f}")
    if grades.relevance_label is not None and asked:
        ratings = [rating.self_rating for rating in grades.self_ratings or ()]
        label = max(ratings, default=0) if grades.is_rated else len(grades.correct)
        if grades.relevance_label != label:
            note("summary", where, f"relevance_label is {grades.relevance_label}, but should be {label}")


def _check_direct(grade: DirectGrade, where: str, note: Note) -> None:
    rating = grade.self_ratings
    if rating is None:
        return
    if rating <= 0 and grade.correct:
        note("rating-conflict", where, f"the passage is rated {rating}, but marked as correct")
    if grade.relevance_label not in (None, rating):
        note("summary", where, f"relevance_label is {grade.relevance_label}, but should be {rating}")


def _check_kind(grades: RubricGrades, prompt: Prompt | None, where: str, note: Note) -> None:
    """Compare the prompt type with the kind of the entries and with the prompt's scale."""
    kind = grades.prompt_type
    if kind is not None and kind not in get_args(PromptKind):
        note("prompt-type", where, f"{kind!r} must be one of {', '.join(get_args(PromptKind))}")
    elif kind in ("question", "nugget"):
        rated_kinds = {rating.kind for rating in grades.self_ratings or ()}
        for rated_kind in rated_kinds - {kind}:
            note("prompt-type", where, f"the prompt type is {kind}, but there are ratings of {rated_kind}s")
    if prompt is not None and prompt.is_rated and not grades.is_rated and grades.graded_ids():
        note("no-ratings", where, "has lists of correct and wrong entries, but no ratings")


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
    soft: Sequence[SelfRating | DirectGrade]
    soft = [grades] if isinstance(grades, DirectGrade) else grades.self_ratings or []
    for grade in soft:
        if grade.probabilities is None:
            continue
        if problem := _soft_problem(grade, grade.probabilities, max_rating):
            name = grade.entry_id if isinstance(grade, SelfRating) else "the grade"
            note("soft-grade", where, f"{name} {problem}")


def _soft_problem(
    grade: SelfRating | DirectGrade, probabilities: Sequence[float], max_rating: int | None
) -> str | None:
    """Return the problem of a soft grade, or None."""
    if min(probabilities, default=-1) < 0 or abs(sum(probabilities) - 1) > _SOFT_TOLERANCE:
        return "has probabilities that do not add up to 1"
    if max_rating is not None and len(probabilities) != max_rating + 1:
        number = counted(len(probabilities), "probability", "probabilities")
        return f"has {number} on a scale of 0 to {max_rating}"
    mean = sum(level * p for level, p in enumerate(probabilities))
    if _differs(grade.expected, mean, _SOFT_TOLERANCE * len(probabilities)):
        return f"has an expected rating of {grade.expected:g}, but should have {mean:.3f}"
    best, second = sorted([*probabilities, 0.0], reverse=True)[:2]
    if _differs(grade.margin, best - second, _SOFT_TOLERANCE):
        return f"has a margin of {grade.margin:g}, but should have {best - second:.3f}"
    return None


def _differs(value: float | None, expected: float, tolerance: float) -> bool:
    return value is not None and abs(value - expected) > tolerance
