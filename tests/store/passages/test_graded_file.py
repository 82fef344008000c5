"""Reading passages files: fields that are decoded later give what a reader of every field gives."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from exam_pp.data_model import PassageView, QueryView, parse_line
from exam_pp.errors import DataError, ExamError
from exam_pp.store.files import read_lines
from exam_pp.store.passages.graded_file import parse_query, passages_writer, read_passages
from exam_pp.store.passages.raw_passages import read_raw_passages
from tests.conftest import data_error, passage, rubric
from tests.test_data_model import lines

Write = Callable[[str, list[Any]], Path]


def seen(passage: PassageView) -> Any:
    """Everything that metrics read of a passage."""
    return (
        passage.passage_id,
        passage.text,
        [(j.query_id, j.relevance) for j in passage.judgments],
        [(r.method, r.rank, r.score) for r in passage.rankings],
        [
            (
                g.model, g.prompt_class, g.prompt_hash, g.prompt_type, g.is_rated,
                g.entry_ratings(), list(g.entry_ratings()), g.distributions(),
                g.nugget_labels(),
            )
            for g in passage.grade_sets()
        ],
    )  # fmt: skip


def view(queries: list[Any]) -> Any:
    return [(query.query_id, [seen(passage) for passage in query.passages]) for query in queries]


def outcome(reader: Callable[[Path], Any], path: Path) -> Any:
    """The result of a reader, or the message of its error."""
    try:
        return view(list(reader(path)))
    except ExamError as error:
        return str(error)


def every_field(path: Path) -> list[QueryView]:
    """Read a file as `exam-pp validate` does: with the fields that other readers decode later."""
    return [parse_query(line, str(path), number, every_field=True) for number, line in read_lines(path)]


def assert_agreement(values: list[Any]) -> Any:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "passages.jsonl"
        path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
        seen, checked = outcome(read_passages, path), outcome(every_field, path)
    # A problem in a field that metrics do not read is no error for them.
    assert seen == checked or (isinstance(checked, str) and not isinstance(seen, str))
    return seen


@given(st.lists(lines, max_size=3))
def test_readers_agree_on_random_files(values: list[Any]) -> None:
    agreed = assert_agreement(values)
    assert isinstance(agreed, list) or "two different texts" in agreed


UNREAD = frozenset({
    "paragraph", "answers", "llm_response_errors", "llm_response_error", "answer", "exam_ratio",
    "relevance_label", "tokens_cut", "margin", "source", "prompt_info", "citations", "llm_options",
    "support_grades", "consistency_grades", "criteria_grades",
})  # fmt: skip
"""Keys that the reader for metrics ignores."""


def _slots(value: Any, unread: Collection[str]) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON value that a reader uses."""
    slots: list[tuple[Any, Any]] = []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        if key not in unread and not str(key).startswith("x-"):
            slots += [(value, key), *_slots(inner, unread)]
    return slots


def damage(line: Any, data: st.DataObject, unread: Collection[str]) -> None:
    """Remove or replace a value of a line that a reader uses."""
    container, key = data.draw(st.sampled_from(_slots(line, unread)))
    if isinstance(container, dict) and data.draw(st.booleans()):
        del container[key]
    else:
        container[key] = data.draw(
            st.sampled_from(
                [
                    None,
                    True,
                    7,
                    -1,
                    2.5,
                    4.0,
                    math.nan,
                    math.inf,
                    "word",
                    "3",
                    "1_0",
                    " 4 ",
                    "",
                    [],
                    {},
                    ["a"],
                    {"a": 1},
                    2**70,
                ]
            )
        )


@given(lines, st.data())
def test_a_damaged_value_has_one_error(line: Any, data: st.DataObject) -> None:
    """Whether it is read with its line or later."""
    assume(not isinstance(assert_agreement([line]), str))  # it would have two errors
    damage(line, data, UNREAD)
    assert_agreement([line])


def test_ids_that_are_numbers_become_strings(write_jsonl: Write) -> None:
    path = write_jsonl("p.jsonl", [[7, [{"paragraph_id": 42, "text": "t"}]]])
    (query,) = read_passages(path)
    assert (query.query_id, query.passages[0].passage_id) == ("7", "42")


def test_a_query_on_two_lines_stays_two_lines(write_jsonl: Write) -> None:
    path = write_jsonl("p.jsonl", [["q", []], ["r", []], ["q", []]])
    assert [query.query_id for query in read_passages(path)] == ["q", "r", "q"]


def test_lone_surrogates_are_replaced_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Python's json module writes and reads them, but UTF-8 does not allow them."""
    path = tmp_path / "p.jsonl"
    path.write_text('["q", [{"paragraph_id": "p", "text": "a\\ud800b"}]]\n', encoding="utf-8")
    (query,) = read_passages(path)
    assert query.passages[0].text == "a?b"
    assert "line 1" in caplog.text


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_written_files_are_read(tmp_path: Path, tiny_passages: Path, suffix: str) -> None:
    copy = tmp_path / f"copy.{suffix}"
    with passages_writer(copy) as writer:
        for query in read_passages(tiny_passages):
            writer.write(query)
    assert view(list(read_passages(copy))) == view(list(read_passages(tiny_passages)))
    assert (copy.read_bytes()[:2] == b"\x1f\x8b") == suffix.endswith("gz")


@pytest.mark.parametrize("options", [[], "greedy", 5, None])
def test_model_options_of_another_type_hide_no_ratings(
    options: Any, write_jsonl: Callable[[str, list[Any]], Path]
) -> None:
    """Metrics do not need them; `exam-pp validate` reports them."""
    graded = passage("p1", exam_grades=[rubric({"q1/a": 4}, llm_options=options)])
    (query,) = read_passages(write_jsonl("g.jsonl", [["q1", [graded]]]))
    (grades,) = query.passages[0].grade_sets()

    assert grades.entry_ratings() == {"q1/a": 4}


@pytest.mark.parametrize(
    ("field", "key", "value", "problem"),
    [
        ("answers", "answers", {"q/a": "4"}, "input should be a valid array"),
        ("answers", "answers.1.2", [["q/a", 4]], "input should be a valid string"),
        ("answers", "answers", None, "input should be a valid array"),
        ("errors", "llm_response_errors.dict[str,any]", "timeout", "input should be an object"),
        ("model_options", "llm_options", ["greedy"], "input should be an object"),
    ],
)
def test_invalid_fields_that_are_decoded_later_are_named(
    write_jsonl: Write, field: str, key: str, value: Any, problem: str
) -> None:
    name, *_ = key.split(".")
    line = ["q", [passage("p", exam_grades=[rubric({"a": 1})]), passage("r", exam_grades=[rubric({"a": 2})])]]
    bad_passage = passage("r", exam_grades=[rubric({"a": 1}), rubric({"a": 2}) | {name: value}])
    with pytest.raises(DataError, match=rf"^{name}: {problem}"):
        getattr(parse_line(json.dumps(["r", [bad_passage]])).passages[0].rubric_grades[1], field)  # type: ignore[index]
    bad = write_jsonl("p.jsonl", [line, ["r", [passage("p"), bad_passage]]])
    for reader in (read_passages, read_raw_passages):
        (_, query) = reader(bad)
        (_, grades) = query.passages[1].grade_sets()
        with data_error(bad, 2, f"passage 2 exam_grades.2.{key}", about=problem):
            getattr(grades, field)
