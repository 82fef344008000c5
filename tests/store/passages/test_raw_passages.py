"""Lazy editing of passages files: unchanged parts keep their bytes, values equal those of other readers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exam_pp.data_model import AnyGrades, RubricGrades, parse_line
from exam_pp.errors import DataError
from exam_pp.records import encode
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.raw_passages import RawQuery, read_raw_passages
from tests.conftest import data_error, passage, rubric
from tests.store.passages.test_graded_file import outcome, seen, view
from tests.test_data_model import lines

Write = Callable[[str, list[Any]], Path]
NEW = RubricGrades(model="new", correct=["é"], wrong=[], answers=[("é", '"4"')])
NEW_JSON = json.loads(encode(NEW))
SPELLINGS: tuple[dict[str, Any], ...] = (
    {}, {"separators": (",", ":")}, {"separators": (" , ", " :  ")}, {"ensure_ascii": False}
)  # fmt: skip


def raw(line: str) -> RawQuery:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "p.jsonl"
        path.write_text(line + "\n", encoding="utf-8")
        (query,) = read_raw_passages(path)
        return query


def raw_or_skip(line: str) -> RawQuery:
    try:
        return raw(line)
    except DataError as error:  # the same id twice
        assume("different texts" not in str(error))
        raise


@given(lines, st.sampled_from(SPELLINGS))
def test_unchanged_lines_keep_their_bytes(value: Any, spelling: dict[str, Any]) -> None:
    line = json.dumps(value, **spelling)
    query = raw_or_skip(line)
    assert query.dump() == line.encode()
    assert view([query]) == view([parse_line(line)])
    assert query.dump() == line.encode(), "looking changes nothing"


@given(lines, st.sampled_from(SPELLINGS), st.data())
def test_other_passages_keep_their_bytes(value: Any, spelling: dict[str, Any], data: st.DataObject) -> None:
    line = json.dumps(value, **spelling)
    query = raw_or_skip(line)
    before = [bytes(p.raw) for p in query.passages]
    if not before:
        return
    chosen = data.draw(st.integers(0, len(before) - 1))
    full = parse_line(line)
    query.passages[chosen].add_grades([NEW])
    full.passages[chosen].add_grades([NEW])
    after = [bytes(p.raw) for p in query.passages]
    assert after[:chosen] == before[:chosen]
    assert after[chosen + 1 :] == before[chosen + 1 :]
    expected = json.loads(before[chosen])
    expected["exam_grades"] = [*(expected.get("exam_grades") or ()), NEW_JSON]
    written = json.loads(after[chosen])
    assert written == expected
    assert list(written) == list(expected), "keys keep their order"
    assert seen(query.passages[chosen]) == seen(full.passages[chosen])
    assert json.loads(query.dump())[0] == value[0]


@given(lines)
def test_unknown_values_of_a_changed_passage_keep_their_bytes(value: Any) -> None:
    oddly = '{ "z" : [1.50, 1E3 ,"\\u00e9"] }'
    line = json.dumps([value[0], [{**passage("p"), "x-odd": 0}]]).replace('"x-odd": 0', f'"x-odd": {oddly}')
    query = raw(line)
    query.passages[0].add_grades([NEW])
    assert oddly.encode() in query.dump()


def test_grades_are_edited_one_by_one() -> None:
    query = raw(
        json.dumps(["q", [passage("p", exam_grades=[rubric({"a": 1}, x=1), rubric({"a": 2}, llm="b")])]])
    )
    (first,) = query.passages

    def edit(grades: AnyGrades) -> AnyGrades | None:
        return None if grades.model == "b" else grades

    first.edit_grades(edit)
    assert [grades.model for grades in first.grade_sets()] == ["google/flan-t5-large"]
    assert json.loads(query.dump())[1][0]["exam_grades"] == [rubric({"a": 1}, x=1)]
    (full,) = first.grade_sets()
    assert isinstance(full, RubricGrades)
    assert full.answers == [("a", "1")]
    first.edit_grades(lambda _grades: None)
    assert list(first.grade_sets()) == [], "no set is as before"


@given(lines)
def test_equal_grades_keep_their_bytes(value: Any) -> None:
    line = json.dumps(value, separators=(" ,", ": "))
    query = raw_or_skip(line)
    for one in query.passages:
        one.take_grades(one.full())
    assert query.dump() == line.encode()
    for one in query.passages:
        full = one.full()
        full.add_grades([NEW])
        one.take_grades(full)
        assert seen(one) == seen(full)


def test_editing_a_duplicate_key_is_an_error() -> None:
    line = '["q", [{"paragraph_id": "p", "text": "t", "exam_grades": [], "note": 1, "exam_grades": null}]]'
    query = raw(line)
    assert query.dump() == line.encode()
    with pytest.raises(DataError, match=r"line 1, passage 1: .*'exam_grades' twice"):
        query.passages[0].add_grades([NEW])


@pytest.mark.parametrize(
    "passage_line",
    [
        '{"z":1.50, "paragraph_id": 7, "text":"t\\u00e9"}',  # ids that are numbers are read as texts
        '{"z":1.50, "paragraph_id": "p", "text":"t", "x": NaN}',
        '{"z":1.50, "paragraph_id": 7.5, "text":"t"}',
    ],
)
def test_unusual_lines_keep_their_bytes(passage_line: str) -> None:
    for query_id in ('"q"', "12"):
        line = f'[ {query_id}, [{passage_line}, {{"paragraph_id":"other" , "text": "t"}}]]'
        query = raw(line)
        assert query.query_id == query_id.strip('"')
        assert query.dump() == line.encode()
    query.passages[0].add_grades([NEW])
    assert '"z": 1.50' in query.dump().decode(), "the spelling of a number"
    assert [grades.model for grades in query.passages[0].grade_sets()] == ["new"]


def test_replaced_surrogates_are_written() -> None:
    query = raw('["q", [{"paragraph_id": "p", "text": "\\ud800"}]]')
    assert json.loads(query.dump()) == ["q", [{"paragraph_id": "p", "text": "?"}]]


@pytest.mark.parametrize("key", ["exam_grades", "grades"])
@pytest.mark.parametrize("value", [3, "x", {"a": 1}])
def test_grades_that_are_no_list_are_named(write_jsonl: Write, key: str, value: Any) -> None:
    bad = write_jsonl("p.jsonl", [["q", [passage("p") | {key: value}]]])
    (query,) = read_raw_passages(bad)
    with data_error(bad, 1, f"passage 1 {key}", about="input should be a valid array"):
        query.passages[0].edit_grades(lambda grades: grades)


@pytest.mark.parametrize(
    "line",
    [b"[1", b"{}", b'["q"]', b'["q", {}]', b'["q", [1]]', b'["q", [{"text": "t"}]]', b"\xff", b"[" * 100_000,
     b'["q", [{"paragraph_id": "p", "text": "t", "x": "\xff"}]]'],
)  # fmt: skip
def test_errors_equal_those_of_the_other_readers(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(line + b"\n")
    message = outcome(read_raw_passages, path)
    assert isinstance(message, str)
    assert message == outcome(read_passages, path)
