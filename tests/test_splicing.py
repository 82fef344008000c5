"""Editing of undecoded JSON: no member is lost, and equal values keep their bytes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.splicing import (
    ShapeError,
    canonical,
    decode_list,
    decode_object,
    duplicate_key,
    splice,
    without_lone_surrogates,
)

SPELLINGS: tuple[tuple[str, str], ...] = ((",", ":"), (", ", ": "), (" ,", ": "), (",\n", " :"))
VALUES = st.recursive(
    st.sampled_from(
        ["1", "-0", "1.50", "1e400", "NaN", "-Infinity", "null", '"\\u00e9"', '"é, "', '": "', "7" * 5000]
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(st.sampled_from(['"a"', '"\\u0062"']), inner).map(
            lambda fields: "{" + " ,".join(f"{key}:{value}" for key, value in fields.items()) + "}"
        )
    ),
    max_leaves=6,
)
"""JSON values in several spellings, without duplicate keys."""
MEMBERS = st.lists(st.tuples(st.text(max_size=4), VALUES), max_size=5)


def spelled(members: list[tuple[str, str]], spelling: tuple[str, str]) -> bytes:
    comma, colon = spelling
    return ("{" + comma.join(f"{json.dumps(key)}{colon}{value}" for key, value in members) + "}").encode()


@given(MEMBERS, st.sampled_from(SPELLINGS))
def test_members_keep_their_bytes_and_doubled_keys_are_refused(
    members: list[tuple[str, str]], spelling: tuple[str, str]
) -> None:
    record = spelled(members, spelling)
    if len(dict(members)) < len(members):
        with pytest.raises(ShapeError, match="twice"):
            decode_object(record)
    else:
        decoded = {key: bytes(value).decode() for key, value in decode_object(record).items()}
        assert list(decoded.items()) == members


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_doubled_keys_of_every_length_are_refused(spelling: tuple[str, str]) -> None:
    for length in range(60):
        for others in range(6):
            members = [(f"{n}", "0") for n in range(others)]
            doubled = [("x" * length, "1"), *members, ("x" * length, "2")]
            with pytest.raises(ShapeError, match="twice"):
                decode_object(spelled(doubled, spelling))


@given(st.lists(VALUES, max_size=4))
def test_elements_keep_their_bytes(items: list[str]) -> None:
    assert [bytes(item).decode() for item in decode_list(f"[{' ,'.join(items)} ]".encode())] == items


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        ('{"a": 1, "b": [2.50]}', '{"b":[2.5],"a":1}', True),
        ('{"a": NaN, "b": 1}', '{"b": 1, "a": NaN}', True),
        ('{"a": NaN, "b": 1}', '{"b": 2, "a": NaN}', False),
        ('{"a": NaN, "b": "1"}', '{"a": NaN, "b": 1}', False),
        ('["\\u00e9", 1e400]', '["é",1e400]', True),
    ],
)
def test_canonical_values(first: str, second: str, equal: bool) -> None:
    assert (canonical(first.encode()) == canonical(second.encode())) is equal


def test_changed_values_keep_the_bytes_of_equal_parts() -> None:
    value = b'{"z":1E2, "a":{"n":0.10,"m":[1.0 , 2.0]},"gone":1,"b":"\\u00e9"}'
    before = json.loads(value)
    after = {"z": 100.0, "a": {"n": 0.1, "m": [1.0, 3.0]}, "b": "é", "new": True}
    assert bytes(splice(value, before, after)) == (
        b'{"z": 1E2, "a": {"n": 0.10, "m": [1.0, 3.0]}, "b": "\\u00e9", "new": true}'
    )
    assert splice(value, before, before) is value
    with pytest.raises(ShapeError, match="'a' twice"):
        splice(b'{"a":1,"a":2}', {"a": 2}, {"a": 3})


@given(
    st.lists(
        st.sampled_from(
            ["\\ud83d", "\\ude00", "\\uD83D\\uDE00", "\\\\", "\\n", '\\"', "u", "d83d", "\\u00e9"]
        )
    )
)
def test_lone_surrogates_become_question_marks(parts: list[str]) -> None:
    line = json.dumps("x")[:-1] + "".join(parts) + '"'
    expected = json.loads(line).encode("utf-8", "replace").decode()
    assert json.loads(without_lone_surrogates(line.encode())) == expected


def test_a_long_integer_is_no_obstacle() -> None:
    digits = b"1" * 5000
    assert duplicate_key(b'{"a": %b, "a": 1}' % digits) == "a"
    assert canonical(digits) != canonical(b'"%b"' % digits)
    assert canonical(b'{"b":%b,"a":1}' % digits) == canonical(b'{"a": 1, "b": %b}' % digits)
