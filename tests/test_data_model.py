"""Graded files: accepted variants, refused records, keys, round trips."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from exam_pp.data_model import (
    DIRECT_ID,
    LEGACY_PROMPT_CLASS,
    Passage,
    QueryPassages,
    RubricGrades,
    parse_line,
)
from exam_pp.errors import DataError
from exam_pp.grade_filter import GradeKey

Json = dict[str, Any]


def passage(**keys: Any) -> Json:
    return {"paragraph_id": "p", "text": "t", "paragraph_data": {"judgments": [], "rankings": []}, **keys}


def grades(**keys: Any) -> Json:
    return {"correctAnswered": ["q/a"], "wrongAnswered": ["q/b"], "answers": [], "llm": "m", **keys}


def rated(self_ratings: Any, **keys: Any) -> Json:
    return grades(self_ratings=self_ratings, **keys)


def read(record: Json) -> Passage:
    return parse_line(json.dumps(["q", [record]])).passages[0]


def first(record: Json) -> RubricGrades:
    return next(iter(read(passage(exam_grades=[record])).rubric_grades or []))


def written(value: Any) -> Any:
    return json.loads(parse_line(json.dumps(value)).dump())


# The variants of published files that formats.md, section 1, says a reader accepts.
QUIRKS: dict[str, tuple[Json, Callable[[Passage], object], object]] = {
    "an int id is read as str": (
        {**passage(), "paragraph_id": 17}, lambda p: p.passage_id, "17"),
    "no prompt_info means the legacy class": (
        passage(exam_grades=[grades()]), lambda p: GradeKey.of(next(p.grade_sets())).prompt_class,
        LEGACY_PROMPT_CLASS),
    "no prompt_info means unrated": (
        passage(exam_grades=[grades()]), lambda p: next(p.grade_sets()).is_rated, False),
    "prompt_info without prompt_class": (
        passage(exam_grades=[grades(prompt_info={"prompt_style": "s"})]),
        lambda p: next(p.grade_sets()).prompt_class, None),
    "prompt_info with odd keys": (
        passage(exam_grades=[grades(prompt_info={"qrels_file:": "x", "prompt_class": "QrelImport"})]),
        lambda p: next(p.grade_sets()).prompt_class, "QrelImport"),
    "no prompt_type": (
        passage(exam_grades=[grades()]), lambda p: next(p.grade_sets()).prompt_type, None),
    "no relevance_label": (
        passage(exam_grades=[grades()]), lambda p: next(p.grade_sets()).relevance_label, None),
    "self_ratings absent: correct is 1, wrong is 0": (
        passage(exam_grades=[grades()]), lambda p: next(p.grade_sets()).entry_ratings(),
        {"q/a": 1, "q/b": 0}),
    "self_ratings null is absent": (
        passage(exam_grades=[rated(None)]), lambda p: next(p.grade_sets()).entry_ratings(),
        {"q/a": 1, "q/b": 0}),
    "self_ratings of nuggets": (
        passage(exam_grades=[rated([{"nugget_id": "n", "self_rating": 4}])]),
        lambda p: next(p.grade_sets()).entry_ratings(), {"n": 4}),
    "the kind of a prompt type": (
        passage(exam_grades=[grades(prompt_type="nugget")]), lambda p: next(p.grade_sets()).kind, "nugget"),
    "the kind of the ratings": (
        passage(exam_grades=[rated([{"nugget_id": "n", "self_rating": 4}])]),
        lambda p: next(p.grade_sets()).kind, "nugget"),
    "the id of a rating": (
        passage(exam_grades=[rated([{"nugget_id": "n", "self_rating": 4}])]),
        lambda p: p.rubric_grades[0].self_ratings[0].entry_id, "n"),  # type: ignore[index]
    "a rule for answers": (
        passage(exam_grades=[grades(prompt_info={"answer_match": "fuzzy"})]),
        lambda p: next(p.grade_sets()).answer_match, "fuzzy"),
    "answers empty": (
        passage(exam_grades=[grades(answers=[])]), lambda p: p.rubric_grades[0].answers, []),  # type: ignore[index]
    "paragraph is a string": (passage(paragraph=""), lambda p: p.paragraph, ""),
    "paragraph is empty": (passage(paragraph={}), lambda p: p.paragraph, {}),
    "paragraph is rich": (passage(paragraph={"a": [1, {"b": None}]}), lambda p: p.paragraph,
                          {"a": [1, {"b": None}]}),
    "exam_grades and grades null": (
        passage(exam_grades=None, grades=None), lambda p: list(p.grade_sets()), []),
    "exam_grades and grades absent": (passage(), lambda p: list(p.grade_sets()), []),
    "legacy llm_options": (
        passage(exam_grades=[grades(llm_options={"prompt_template": "x"})]),
        lambda p: p.rubric_grades[0].model_options, {"prompt_template": "x"}),  # type: ignore[index]
    "llm_response_errors as a list": (
        passage(exam_grades=[grades(llm_response_errors=["e"])]),
        lambda p: p.rubric_grades[0].error_of("q/a"), None),  # type: ignore[index]
    "rank from 0, a method twice": (
        passage(paragraph_data={"judgments": [], "rankings": [
            {"method": "m", "paragraphId": "p", "queryId": "q", "rank": r, "score": 1} for r in (0, 3)]}),
        lambda p: [(r.method, r.rank) for r in p.rankings], [("m", 0), ("m", 3)]),
    "several judgments, a negative one": (
        passage(paragraph_data={"judgments": [
            {"paragraphId": "p", "query": "q", "relevance": r, "titleQuery": "q"} for r in (-2, 3)]}),
        lambda p: [j.relevance for j in p.judgments], [-2, 3]),
    "paragraph_data empty": (
        passage(paragraph_data={}), lambda p: (p.judgments, p.rankings), ([], [])),
    "unknown prompt classes": (
        passage(exam_grades=[grades(prompt_info={"prompt_class": "umbrela"})]),
        lambda p: next(p.grade_sets()).prompt_class, "umbrela"),
    "a scale of 0 to 3 and criterion names as nugget ids": (
        passage(exam_grades=[rated([{"nugget_id": "Exactness", "self_rating": 3}])]),
        lambda p: next(p.grade_sets()).entry_ratings(), {"Exactness": 3}),
    "a direct grade has the one id direct": (
        passage(grades=[{"correctAnswered": True, "answer": "Yes", "llm": "m", "self_ratings": 2}]),
        lambda p: next(p.grade_sets()).entry_ratings(), {DIRECT_ID: 2}),
    "an unrated direct grade": (
        passage(grades=[{"correctAnswered": False, "answer": "No", "llm": "m"}]),
        lambda p: next(p.grade_sets()).entry_ratings(), {DIRECT_ID: 0}),
    "a failed direct grade has no ratings": (
        passage(grades=[{"correctAnswered": False, "answer": "", "llm": "m",
                         "llm_response_error": {"failure_reason": "time-out"}}]),
        lambda p: next(p.grade_sets()).entry_ratings(), {}),
}  # fmt: skip


@pytest.mark.parametrize("quirk", QUIRKS)
def test_quirk_is_read_and_written(quirk: str) -> None:
    record, look, expected = QUIRKS[quirk]
    assert look(read(record)) == expected
    if quirk != "an int id is read as str":
        assert written(["q", [record]]) == ["q", [record]]


@pytest.mark.parametrize(
    ("record", "field"),
    [
        ({"text": "t"}, "paragraph_id"),
        ({"paragraph_id": "p"}, "text"),
        ({"paragraph_id": "p", "text": None}, "text"),
        ({"passage_id": "p", "text": "t"}, "paragraph_id"),
        (passage(exam_grades=[{"wrongAnswered": []}]), "correctAnswered"),
        (passage(exam_grades=[rated([{"question_id": "a", "self_rating": "high"}])]), "self_rating"),
        (passage(paragraph_data={"rankings": [{"method": "m"}]}), "paragraphId"),
    ],
)
def test_invalid_records_are_refused(record: Json, field: str) -> None:
    with pytest.raises(ValidationError, match=field):
        read(record)


def test_python_names_in_files_are_unknown_keys() -> None:
    """Keys of a file that equal our attribute names are kept and do not set the attributes."""
    record = passage(
        data={"x": 1}, judgments="mine", exam_grades=[grades(model="other", errors=[1], correct=0)]
    )
    (kept,) = written(["q", [record]])[1]
    assert (kept["data"], kept["judgments"], kept["exam_grades"][0]["model"]) == ({"x": 1}, "mine", "other")
    assert kept["exam_grades"][0]["llm"] == "m"
    assert first(record["exam_grades"][0]).model == "m"
    assert read(record).judgments == []


def test_key_order_of_new_passages_is_the_published_one() -> None:
    """Keys are written in the order of the published writer (formats.md, section 1)."""
    record = passage(paragraph={}, exam_grades=[], grades=[])
    names = list(json.loads(QueryPassages("q", [Passage(**dict(reversed(record.items())))]).dump())[1][0])
    assert names == ["paragraph_id", "text", "paragraph", "paragraph_data", "exam_grades", "grades"]


# --- round trips of random files -----------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | texts,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2),
    max_leaves=4,
)
# Unknown keys exclude the keys of the file and the Python names of fields.
unknown_keys = st.dictionaries(texts.map(lambda key: f"x-{key}"), anything, max_size=2)
scores = st.floats(-1e6, 1e6)


def record(required: dict[str, st.SearchStrategy[Any]], **optional: st.SearchStrategy[Any]) -> Any:
    """Dictionaries with the required keys, any of the optional ones, and unknown keys."""
    known = st.fixed_dictionaries(required, optional=optional)
    return st.builds(lambda values, more: {**values, **more}, known, unknown_keys)


def or_null(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


judgments = record(
    {"paragraphId": texts, "query": texts, "relevance": st.integers(-2, 3), "titleQuery": texts}
)
rankings = record(
    {"method": texts, "paragraphId": texts, "queryId": texts, "rank": st.integers(0, 1000), "score": scores}
)
ratings = record(
    {"self_rating": st.integers(0, 5)},
    question_id=texts,
    nugget_id=texts,
    expected=or_null(st.floats(0, 5)),
    margin=or_null(st.floats(0, 1)),
    probabilities=or_null(st.lists(st.floats(0, 1), max_size=6)),
    source=st.sampled_from(["number", "default-0", "default-1", "human", "reread"]),
)
of_a_model: dict[str, st.SearchStrategy[Any]] = {
    "llm": or_null(texts),
    "llm_options": or_null(st.dictionaries(texts, anything, max_size=2)),
    "prompt_info": or_null(
        record({}, prompt_class=or_null(texts), prompt_hash=or_null(texts), is_self_rated=st.booleans())
    ),
    "prompt_type": or_null(st.sampled_from(["question", "nugget", "direct_grading"])),
    "relevance_label": or_null(st.integers(0, 5)),
    "tokens_cut": st.dictionaries(texts, st.integers(1, 99), max_size=2),
}
rubrics = record(
    {"correctAnswered": st.lists(texts, max_size=3), "wrongAnswered": st.lists(texts, max_size=3)},
    answers=st.lists(st.tuples(texts, texts).map(list), max_size=2),
    llm_response_errors=or_null(
        st.dictionaries(texts, st.dictionaries(texts, texts, max_size=2), max_size=2)
        | st.lists(texts, max_size=2)
    ),
    exam_ratio=or_null(st.floats(0, 1)),
    self_ratings=or_null(st.lists(ratings, max_size=3)),
    assignments=or_null(
        st.lists(st.fixed_dictionaries({"nugget_id": texts, "assignment": texts}), max_size=3)
    ),
    **of_a_model,
)
directs = record(
    {"correctAnswered": st.booleans()},
    answer=or_null(texts),
    llm_response_error=or_null(st.dictionaries(texts, texts, max_size=2)),
    self_ratings=or_null(st.integers(0, 3)),
    **of_a_model,
)
supports = record(
    {"citation": texts},
    support=or_null(st.sampled_from(["no_support", "partial_support", "full_support"])),
    answer=or_null(texts),
    llm_response_error=or_null(st.dictionaries(texts, texts, max_size=2)),
)
criteria = record(
    {"criterion": texts},
    rating=or_null(st.integers(-1, 5)),
    llm_response_error=or_null(st.dictionaries(texts, texts, max_size=2)),
)
passages = record(
    {"paragraph_id": texts, "text": texts},
    paragraph=anything,
    paragraph_data=record(
        {}, judgments=st.lists(judgments, max_size=2), rankings=st.lists(rankings, max_size=2)
    ),
    exam_grades=or_null(st.lists(rubrics, max_size=2)),
    grades=or_null(st.lists(directs, max_size=2)),
    support_grades=or_null(
        st.lists(record({"supports": st.lists(supports, max_size=2)}, **of_a_model), max_size=2)
    ),
    criteria_grades=or_null(
        st.lists(
            record(
                {"method": texts, "ratings": st.lists(criteria, max_size=2)},
                answer=or_null(texts),
                **of_a_model,
            ),
            max_size=2,
        )
    ),
)
lines = st.tuples(texts, st.lists(passages, max_size=3)).map(list)


@given(lines)
def test_line_round_trip(line: Any) -> None:
    assert written(line) == line


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_nan_and_infinity_round_trip(number: float) -> None:
    """``json.dumps`` of the published writer and of pandas writes them, also under unknown keys."""
    line = ["q", [passage(title=number, exam_grades=[grades(llm_options={"t": number}, mine=[number])])]]
    # As text, because NaN does not equal itself.
    assert json.dumps(written(line), sort_keys=True) == json.dumps(line, sort_keys=True)


def test_a_line_with_a_value_that_is_nested_too_deeply_cannot_be_written() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = [deep]
    with pytest.raises(DataError, match="has a value that is nested too deeply"):
        Passage(passage_id="p", text="t", paragraph=deep)
