"""Selection of grades: criteria, merging, several sets of grades, versions of a prompt."""

from __future__ import annotations

from typing import Any

import pytest

from exam_pp.data_model import DirectGrade, Passage, RubricGrades, SelfRating
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter, GradeKey, GradeSelector, question_set_of


def grades(
    ratings: dict[str, int],
    model: str | None = "m",
    prompt: str | None = "P",
    kind: str | None = "question",
    **info: Any,
) -> RubricGrades:
    return RubricGrades(
        model=model,
        correct=[entry for entry, rating in ratings.items() if rating],
        wrong=[entry for entry, rating in ratings.items() if not rating],
        prompt_info={"prompt_class": prompt, **info} if prompt else None,
        prompt_type=kind,
        self_ratings=[SelfRating(question_id=entry, self_rating=rating) for entry, rating in ratings.items()],
    )


def passage(*sets: RubricGrades, direct: DirectGrade | None = None) -> Passage:
    return Passage(
        passage_id="p", text="t", rubric_grades=list(sets), direct_grades=[direct] if direct else None
    )


def selected(where: GradeFilter, *passages: Passage) -> tuple[GradeSelector, list[dict[str, int]]]:
    selector = GradeSelector(where)
    return selector, [selector.ratings(each) for each in passages]


def test_grades_of_the_same_model_and_prompt_are_merged() -> None:
    """The last rating counts, so a file that was graded again, or with more entries, is read correctly."""
    both = passage(grades({"a": 1, "b": 2}), grades({"b": 5, "c": 3}))
    selector, (ratings,) = selected(GradeFilter(), both)
    assert ratings == {"a": 1, "b": 5, "c": 3}
    selector.check("f")
    assert selector.key == GradeKey("m", "P")


def test_choice_first_takes_the_first_set() -> None:
    """Two versions of a prompt are no problem then, because their ratings are not mixed."""
    both = passage(grades({"a": 1}, prompt_hash="old"), grades({"a": 5, "b": 5}, prompt_hash="new"))
    selector, (ratings,) = selected(GradeFilter(choice="first"), both)
    assert ratings == {"a": 1}
    selector.check("f")


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (GradeFilter(model="m"), {"a": 1}),
        (GradeFilter(prompt_class="Q"), {"b": 2}),
        (GradeFilter(kind="nugget"), {"b": 2}),
        (GradeFilter(kind="direct"), {"direct": 1}),
        (GradeFilter(model="m", prompt_class="Q"), {}),
        (GradeFilter(question_set="tqa"), {"NDQ_1": 4}),
    ],
)
def test_criteria(where: GradeFilter, expected: dict[str, int]) -> None:
    mixed = passage(
        grades({"a": 1}),
        grades({"b": 2}, model="n", prompt="Q", kind="nugget"),
        grades({"NDQ_1": 4}, model="o", prompt="T"),
        direct=DirectGrade(model="d", correct=True, prompt_info={"prompt_class": "HELM"}),
    )
    assert selected(where, mixed)[1] == [expected]


def test_missing_metadata_matches() -> None:
    unknown = passage(grades({"a": 1}, model=None, prompt=None, kind=None))
    selector, ratings = selected(GradeFilter(model="m", prompt_class="P", kind="nugget"), unknown)
    assert ratings == [{"a": 1}]
    assert selector.key == GradeKey("m", "P")


def test_without_a_match_the_grades_of_the_file_are_listed() -> None:
    selector, _ = selected(GradeFilter(model="other"), passage(grades({"a": 1})), passage(grades({"a": 1})))
    with pytest.raises(SelectionError, match=r"graded\.jsonl .* --grader 'm' --prompt 'P' \(2 passages\)\.$"):
        selector.check("graded.jsonl")


def test_several_matching_sets_are_listed() -> None:
    selector, _ = selected(GradeFilter(), passage(grades({"a": 1}), grades({"a": 1}, model="n")))
    with pytest.raises(SelectionError, match=r"^f has 2 sets of grades; choose one: --grader m or --grad"):
        selector.check("f")


@pytest.mark.parametrize(
    ("first", "expected"),
    [("NDQ_0001", "tqa"), ("tqa2:L_1/x", "genq"), ("q/a", "question-bank"), (None, "question-bank")],
)
def test_question_set(first: str | None, expected: str) -> None:
    """The first id decides, as in the published tool."""
    assert question_set_of({first: 1} if first else {}) == expected


def test_versions_of_a_prompt_are_not_merged() -> None:
    versions = passage(
        grades({"a": 4}, prompt_hash="old"), grades({"b": 2}, prompt_hash="new"), grades({"c": 1})
    )
    selector, _ = selected(GradeFilter(), versions)
    with pytest.raises(SelectionError, match="--grades hash: new, old"):
        selector.check("file")
    chosen, ratings = selected(GradeFilter(prompt_hash="new"), versions)
    assert ratings == [{"b": 2, "c": 1}]
    chosen.check("file")


def test_a_prompt_is_accepted_under_all_its_names() -> None:
    """Old files have other names for some prompts; the grades are one set."""
    selector = GradeSelector(GradeFilter(prompt_class="Thomas", also_called=("Thom",)))
    passage = Passage(
        passage_id="p",
        text="",
        rubric_grades=[grades({"a": 1}, prompt="Thom"), grades({"b": 2}, prompt="Thomas"), grades({"c": 1})],
    )
    assert selector.ratings(passage) == {"a": 1, "b": 2}
    selector.check("file")
    assert selector.key == GradeKey("m", "Thomas")
