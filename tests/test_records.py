"""Stored records: what is set, repairs, and splicing, which keeps the bytes of what did not change."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import UNSET
from pydantic import ValidationError

from exam_pp.data_model import Passage, PassageData, QueryPassages, RankingEntry, RubricGrades, parse_line
from exam_pp.errors import DataError
from exam_pp.records import encode, is_set, replace

LINE = (
    '["q", [{"paragraph_id": "p", "z": [1.50,2], "text": "t", "exam_grades": ['
    '{"llm": "a", "x":1, "correctAnswered": ["e"], "wrongAnswered" : [], "answers": [["e", "4" ]],'
    ' "self_ratings": [{"question_id": "e", "self_rating": 4, "y" : 1E2}]},'
    ' {"llm": "b",  "correctAnswered": [], "wrongAnswered": ["e"]}]}]]'
)


def grades_of(query: QueryPassages) -> list[RubricGrades]:
    return query.passages[0].rubric_grades or []


def test_a_passage_keeps_its_bytes_also_after_it_was_looked_at() -> None:
    query = parse_line(LINE)
    (passage,) = query.passages
    assert (passage.judgments, passage.rankings) == ([], [])
    assert [grades.answers for grades in grades_of(query)] == [[("e", "4")], []]
    assert f'["q", [{encode_of(passage).decode()}]]' == LINE
    assert query.dump() == (
        b'["q",[{"paragraph_id":"p","text":"t","exam_grades":[{"llm":"a","correctAnswered":["e"],"wrongAnswered":[],'
        b'"answers":[["e","4"]],"self_ratings":[{"question_id":"e","self_rating":4,"y":100.0}],"x":1},'
        b'{"llm":"b","correctAnswered":[],"wrongAnswered":["e"]}],"z":[1.5,2]}]]'
    ), "written lines are compact, with known keys first"


def test_a_change_keeps_the_bytes_and_unknown_keys_of_everything_else() -> None:
    query = parse_line(LINE)
    first, second = grades_of(query)
    rating = replace((first.self_ratings or [])[0], self_rating=5)
    new = RubricGrades(model="a", correct=[], wrong=[])
    query.passages[0].take(rubric_grades=[second, replace(first, self_ratings=[rating]), new])
    assert encode_of(query.passages[0]).decode() == (
        '{"paragraph_id": "p", "z": [1.50,2], "text": "t", "exam_grades": ['
        '{"llm": "b",  "correctAnswered": [], "wrongAnswered": ["e"]}, '
        '{"llm": "a", "x": 1, "correctAnswered": ["e"], "wrongAnswered": [], "answers": [["e", "4" ]], '
        '"self_ratings": [{"question_id": "e", "self_rating": 5, "y": 1E2}]}, '
        '{"llm":"a","correctAnswered":[],"wrongAnswered":[]}]}'
    )


def test_removed_and_null_keys_are_different() -> None:
    query = parse_line(LINE)
    first, _ = grades_of(query)
    assert is_set(replace(first, prompt_type=None), "prompt_type")
    assert not is_set(first, "prompt_type")
    query.passages[0].take(rubric_grades=[replace(first, answers=UNSET, self_ratings=None)])
    (written,) = json.loads(query.dump())[1][0]["exam_grades"]
    assert "answers" not in written
    assert written["self_ratings"] is None


def test_a_change_of_an_object_with_a_duplicate_key_is_an_error() -> None:
    query = parse_line('["q", [{"paragraph_id": "p", "text": "t", "a": 1, "a": 2}]]')
    query.passages[0].add_grades([RubricGrades(correct=[], wrong=[])])
    with pytest.raises(DataError, match="query q: has the key 'a' twice"):
        query.dump()


def test_data_that_is_added_to_a_new_passage_is_written() -> None:
    passage = Passage(passage_id="p", text="t")
    assert passage.rankings == []
    assert json.loads(encode_of(passage)) == {"paragraph_id": "p", "text": "t"}
    passage.rankings.append(RankingEntry(method="m", passage_id="p", query_id="q", rank=1, score=1))
    assert json.loads(encode_of(passage))["paragraph_data"]["rankings"][0]["score"] == 1.0
    empty = Passage(passage_id="p", text="t", data=PassageData(judgments=[], rankings=[]))
    assert json.loads(encode_of(empty))["paragraph_data"] == {"judgments": [], "rankings": []}


def encode_of(passage: Passage) -> bytes:
    return bytes(passage.dump())


def test_values_that_only_lax_readers_accept_are_repaired() -> None:
    values: dict[str, Any] = {"correctAnswered": [3], "wrongAnswered": [], "relevance_label": 4.0}
    grades = RubricGrades(**values, answers=[(3, "4")])  # type: ignore[list-item]
    assert (grades.correct, grades.relevance_label, grades.answers) == (["3"], 4, [("3", "4")])


@pytest.mark.parametrize("llm", ['"llm": "m", ', ""])
def test_unknown_keys_with_the_python_name_of_a_field(llm: str) -> None:
    """Numbers above the range of floats are read by pydantic, which accepts Python names, too."""
    data = f'["q", [{{"paragraph_id": "p", "text": "t", "exam_grades": [{{{llm}"correctAnswered": [], '
    data += '"wrongAnswered": [], "model": null, "x": 1E+400}]}]]'
    (grades,) = grades_of(parse_line(data))
    assert is_set(grades, "model") == bool(llm)
    assert grades.model == ("m" if llm else None)


def test_invalid_and_unknown_fields_are_errors() -> None:
    with pytest.raises(ValidationError, match="valid list"):
        RubricGrades(correct=3, wrong=[])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'nothing'"):
        RubricGrades(correct=[], wrong=[], nothing=1)  # type: ignore[call-arg]


def test_equal_passages_of_different_files_are_equal() -> None:
    one, other = (parse_line(line).passages[0] for line in (LINE, LINE.replace('["q"', '["r"')))
    assert one == other
    first, second = (RubricGrades(correct=[], wrong=[], model_options={"a": 1}) for _ in range(2))
    (spelled,) = grades_of(parse_line(json.dumps(["q", [{"paragraph_id": "p", "text": "t", "exam_grades": [
        {"llm_options": {"a": 1}, "correctAnswered": [], "wrongAnswered": []}
    ]}]])))  # fmt: skip
    assert first == second == spelled != replace(spelled, model_options={"a": 2})
    assert encode(grades_of(parse_line(LINE))[1]) == b'{"llm":"b","correctAnswered":[],"wrongAnswered":["e"]}'
