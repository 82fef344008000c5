"""Properties of merge, split, sample, and filter on generated passages files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exam_pp.cli.passages.remove_and_rename import Changes, StripOptions, change_file
from exam_pp.cli.passages.split import split_in_parts
from exam_pp.data_model import LEGACY_PROMPT_CLASS
from exam_pp.phases.passages.merge import merge_files
from exam_pp.store.passages.graded_file import read_passages

# Values are JSON texts, because Python's json module does not keep the spelling of numbers.

odd = st.sampled_from([
    "null", "true", "0", "-0", "-0.0", "1", "1.0", "1.10", "1e2", "1E+400", "-1e-400",
    "0.1000000000000000055", "18446744073709551616",
    "123456789012345678901234567890", "123456789012345678901234567891",
    '""', '"\\u00e9"', '"é"', '"\\/"', '"\\ud83d\\ude00"', '"a\\u0000b"', "{}", "[]", "[ 1 ,2]",
    '{"a" :1, "b":{"a":2}}', "[" * 60 + "]" * 60,
])  # fmt: skip
unknown = st.dictionaries(st.sampled_from(["x", "é", "data", "model", "judgments ", ""]), odd, max_size=2)
"""Keys that the format does not define; some are names of attributes."""


def record(fields: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{json.dumps(key)}: {value}" for key, value in fields.items()) + "}"


def array(values: Sequence[str]) -> str:
    return "[" + ", ".join(values) + "]"


@st.composite
def rubric_sets(draw: st.DrawFn) -> str:
    ratings = draw(st.dictionaries(st.sampled_from(["q/a", "q/b"]), st.integers(0, 5), max_size=2))
    model = draw(st.sampled_from(["m", "human:ana", None]))
    prompt_class = draw(st.sampled_from(["A", "B", None]))
    fields = {
        "correctAnswered": json.dumps([key for key, rating in ratings.items() if rating]),
        "wrongAnswered": json.dumps([key for key, rating in ratings.items() if not rating]),
    }
    if model is not None or draw(st.booleans()):
        fields["llm"] = json.dumps(model)
    if prompt_class is not None:
        fields["prompt_info"] = record({"prompt_class": json.dumps(prompt_class)} | draw(unknown))
    if draw(st.booleans()):
        fields["llm_response_errors"] = record(
            {"q/c": record({"response": '"no"', "prompt": '"Is it?"'} | draw(unknown))}
        )
    entries = [
        record({"question_id": json.dumps(key), "self_rating": str(rating)} | draw(unknown))
        for key, rating in ratings.items()
    ]
    fields["self_ratings"] = draw(st.sampled_from([array(entries), array(entries), "null"]))
    return record(fields | draw(unknown))


@st.composite
def direct_sets(draw: st.DrawFn) -> str:
    fields = {"correctAnswered": "true", "llm": '"m"', "self_ratings": draw(st.sampled_from("012"))}
    return record(fields | draw(unknown))


@st.composite
def rankings(draw: st.DrawFn, query: str, key: str) -> str:
    fields = {
        "method": draw(st.sampled_from(['"bm25"', '"dense"'])), "paragraphId": key, "queryId": query,
        "rank": draw(st.sampled_from("12")), "score": "1.50",
    }  # fmt: skip
    return record(fields | draw(unknown))


@st.composite
def judgments(draw: st.DrawFn, query: str, key: str) -> str:
    relevance = draw(st.sampled_from(["0", "-1", "3"]))
    fields = {"paragraphId": key, "query": query, "relevance": relevance, "titleQuery": '"t"'}
    return record(fields | draw(unknown))


@st.composite
def passages(draw: st.DrawFn, query: str, key: str) -> str:
    """A passage; its lists are present, missing or null."""
    inner = {}
    for name, members in (("rankings", rankings(query, key)), ("judgments", judgments(query, key))):
        elements = draw(st.none() | st.lists(members, max_size=2))
        if elements is not None:
            inner[name] = array(elements)
    fields = {"paragraph_id": key, "text": json.dumps(f"Text of {key}.")}
    if inner or draw(st.sampled_from([True, False])):
        fields["paragraph_data"] = record(inner | draw(unknown))
    for name, sets in (("exam_grades", rubric_sets()), ("grades", direct_sets())):
        values = st.lists(sets, max_size=3).map(array) | st.just("null")
        if (value := draw(st.none() | values)) is not None:
            fields[name] = value
    return record(fields | draw(unknown))


@st.composite
def files(draw: st.DrawFn, queries: Sequence[str] = ("q", "7", "é/../x")) -> str:
    """A passages file without duplicate queries and passages."""
    lines = []
    for query in map(json.dumps, draw(st.lists(st.sampled_from(queries), min_size=1, unique=True))):
        keys = draw(st.lists(st.sampled_from(['"p1"', '"p2"']), unique=True))
        lines.append(array([query, array([draw(passages(query, key)) for key in keys])]) + "\n")
    return "".join(lines)


of_one_query = files(("q",))


@contextmanager
def folder(*texts: str) -> Iterator[tuple[Path, list[Path]]]:
    """A folder with files of these texts."""
    with TemporaryDirectory() as name:
        paths = [Path(name) / f"{number}.jsonl" for number in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        yield Path(name), paths


def content(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def merged(target: Path, *parts: Path, like: Path | None = None) -> Path:
    merge_files(parts, target, like)
    return target


Fields = dict[tuple[str, ...], Any]
LISTS = {("exam_grades",), ("grades",), ("paragraph_data", "rankings"), ("paragraph_data", "judgments")}
EMPTY: Sequence[Any] = (None, [], ("object",))


def exact(text: str) -> Any:
    """Parse JSON with numbers as text, and objects as lists of pairs, in order."""
    return json.loads(
        text,
        parse_int=lambda number: ("number", number),
        parse_float=lambda number: ("number", number),
        object_pairs_hook=lambda pairs: ("object", *pairs),
    )


def values_of(text: str) -> dict[tuple[str, str], Fields]:
    """Values of every passage by path, with the spelling of numbers."""
    result: dict[tuple[str, str], Fields] = {}
    for line in text.splitlines():
        query, members = exact(line)
        for _, *fields in members:
            flat: Fields = {}
            for key, value in fields:
                inner = value[1:] if key == "paragraph_data" else ()
                flat |= {(key, name): part for name, part in inner} if inner else {(key,): value}
            result[query, flat["paragraph_id",]] = flat
    return result


def meaning(value: Any) -> str:
    """A value that is equal for JSON that differs only in formatting and order of keys."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        kind, *parts = value
        return json.loads(parts[0]) if kind == "number" else {key: _plain(part) for key, part in parts}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def members(text: str) -> dict[tuple[str, str], dict[tuple[str, ...], set[str]]]:
    """The elements of the lists of every passage, without order and formatting."""
    return {
        key: {path: set(map(meaning, fields[path])) for path in LISTS if fields.get(path)}
        for key, fields in values_of(text).items()
    }


def ratings(path: Path) -> dict[tuple[str | None, ...], int]:
    """The last rating of every entry."""
    return {
        (
            query.query_id,
            one.passage_id,
            grades.model,
            grades.prompt_class or LEGACY_PROMPT_CLASS,
            entry,
        ): rating
        for query in read_passages(path)
        for one in query.passages
        for grades in one.grade_sets()
        for entry, rating in grades.entry_ratings().items()
    }


@given(files(), st.integers(1, 3))
def test_merged_parts_equal_the_whole_file(text: str, parts: int) -> None:
    with folder(text) as (where, (path,)):
        number = min(parts, len(text.splitlines()))
        split = split_in_parts(path, where / "parts", number)
        assert content(merged(where / "out", *reversed(split), like=path)) == text


@given(files())
def test_a_file_merged_with_itself_is_itself(text: str) -> None:
    with folder(text, text) as (where, paths):
        assert content(merged(where / "out", paths[0])) == text
        assert content(merged(where / "out", *paths)) == text


@given(st.lists(of_one_query, min_size=3, max_size=3))
def test_merge_drops_no_value_and_adds_no_value(texts: list[str]) -> None:
    with folder(*texts) as (where, paths):
        whole = values_of(content(merged(where / "out", *paths)))
    parts = [values_of(text) for text in texts]
    assert whole.keys() == {key for part in parts for key in part}
    for key, fields in whole.items():
        sources = [part[key] for part in parts if key in part]
        assert {path for one in sources for path, value in one.items() if value not in EMPTY} <= fields.keys()
        for path, value in fields.items():
            known = [source[path] for source in sources if path in source]
            if path in LISTS:
                given = [member for values in known for member in values or ()]
                assert set(map(meaning, value or ())) == set(map(meaning, given))
                assert all(member in given for member in value or ())
            elif value not in EMPTY:
                assert value == next(one for one in known if one not in (None, ("object",)))


@given(st.lists(of_one_query, min_size=3, max_size=3))
def test_merge_in_any_grouping(texts: list[str]) -> None:
    with folder(*texts) as (where, (a, b, c)):
        at_once = merged(where / "abc", a, b, c)
        left = merged(where / "ab_c", merged(where / "ab", a, b), c)
        right = merged(where / "a_bc", a, merged(where / "bc", b, c))
        assert content(left) == content(at_once)
        assert ratings(right) == ratings(at_once)
        assert members(content(right)) == members(content(at_once))


@given(of_one_query, of_one_query)
def test_merge_in_any_order(one: str, other: str) -> None:
    with folder(one, other) as (where, (a, b)):
        back = content(merged(where / "ba", b, a))
        assert members(content(merged(where / "ab", a, b))) == members(back)


@pytest.mark.parametrize("part", ["texts", "prompts", "replies", "human", "judgments", "rankings"])
@given(text=files())
@settings(max_examples=25)
def test_strip_keeps_the_other_parts(part: str, text: str) -> None:
    unwanted = replace(StripOptions(), **{part: True})  # type: ignore[arg-type]  # names of switches
    with folder(text) as (where, (path,)):
        change_file(path, where / "once", Changes(remove=unwanted))
        again = change_file(where / "once", where / "twice", Changes(remove=unwanted))
        assert not again.removed
        assert content(where / "twice") == content(where / "once")
        stripped = values_of(content(where / "once"))
    assert stripped == {key: _without(part, fields) for key, fields in values_of(text).items()}


def _without(part: str, fields: Fields) -> Fields:
    """The expected passage."""
    after = dict(fields)
    if part == "texts":
        after["text",] = ""
    for name in ("judgments", "rankings"):
        if part == name and fields.get(("paragraph_data", name)):
            after["paragraph_data", name] = []
    key = {"texts": "prompt", "prompts": "prompt", "replies": "response"}.get(part)
    if fields.get(("exam_grades",)):
        sets = [one for one in fields["exam_grades",] if part != "human" or ("llm", "human:ana") not in one]
        after["exam_grades",] = [_without_key(one, key) for one in sets]
    return after


def _without_key(value: Any, key: str | None) -> Any:
    if isinstance(value, tuple) and value[0] == "object":
        return ("object", *((name, _without_key(part, key)) for name, part in value[1:] if name != key))
    return value
