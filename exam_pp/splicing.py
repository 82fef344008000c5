"""Editing JSON of files: :func:`splice` writes changed records, and what is equal keeps its bytes and order.

Edited records are written as in the published files, with a space after colons and commas.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import eq
from typing import Any, Literal

import msgspec

from exam_pp.records import StoredRecord, set_fields


class Digits(str):
    """An integer as its digits, since Python converts only integers of up to 4,300 digits."""

    __slots__ = ()
    __repr__ = str.__str__


def first_duplicate(pairs: Sequence[tuple[str, Any]]) -> str:
    """Return the first key that occurs more than once."""
    return next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)


def duplicate_key(value: bytes | msgspec.Raw) -> str | None:
    """Return a duplicate key of any object in a JSON value, or None."""
    duplicates: list[str] = []

    def check(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            duplicates.append(first_duplicate(pairs))

    json.loads(bytes(value), object_pairs_hook=check, parse_int=Digits)
    return duplicates[0] if duplicates else None


RawJson = msgspec.Raw | bytes
"""A JSON value that is not decoded."""

Change = Callable[[RawJson | None], RawJson | None]
"""Maps an old value to a new value; None means that the key is absent, or is removed."""

_RECORD: msgspec.json.Decoder[Any] = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw] | None)


_PYTHON = json.JSONDecoder(parse_int=str, parse_float=str, strict=False)
"""Finds the ends of values; converts no numbers, because Python refuses integers of 4,300 digits."""
_BLANKS = re.compile(r"[ \t\n\r]*")
_ESCAPE = re.compile(
    rb"\\[^u]|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(?P<lone>\\u[dD][89a-fA-F]..|\xed[\xa0-\xbf][\x80-\xbf])",
    re.DOTALL,
)


class ShapeError(ValueError):
    """JSON of an unexpected type, or an object with a duplicate key, whose values an edit would not keep."""


def decode_object(record: RawJson) -> dict[str, RawJson]:
    """Decode a JSON object to key and undecoded value, in order; raises :class:`ShapeError`."""
    try:
        fields: dict[str, RawJson] = _RECORD.decode(record)
    except msgspec.DecodeError:  # NaN or Infinity, which only Python's json module reads
        pass
    else:
        if _has_all_members(fields, record):
            return fields
    members = _split(record, "{}")
    fields = dict(members)
    if len(fields) < len(members):
        raise ShapeError(f"has the key {first_duplicate(members)!r} twice.")
    return fields


def _has_all_members(fields: Mapping[str, RawJson], record: RawJson) -> bool:
    """Whether a record has no further members, which the decoder drops if their keys are duplicates.

    Returns False for records with unusual blanks or escapes, too.
    """
    spaced, data = encode_object(fields), bytes(record)
    # Without the spaces after colons and commas, no byte is left for another member.
    return data == spaced or len(data) == len(spaced) - 2 * len(fields) + 1


def _split(value: RawJson, brackets: Literal["{}", "[]"]) -> list[tuple[str, RawJson]]:
    """Split JSON that Python's json module reads into its members; the keys of a list are empty."""
    text = bytes(value).decode()
    if not text.startswith(brackets[0]):
        raise ShapeError(f"is not a JSON {'object' if brackets == '{}' else 'list'}.")
    members: list[tuple[str, RawJson]] = []
    position, key = _after_blanks(text, 1), ""
    while text[position] != brackets[1]:
        if brackets == "{}":
            key, position = _PYTHON.raw_decode(text, position)
            position = _after_blanks(text, _after_blanks(text, position) + 1)  # 1 for the colon
        end = _PYTHON.raw_decode(text, position)[1]
        members.append((key, text[position:end].encode()))
        position = _after_blanks(text, end)
        position = _after_blanks(text, position + (text[position] == ","))
    return members


def _after_blanks(text: str, position: int) -> int:
    match = _BLANKS.match(text, position)
    return match.end() if match else position


def decode_list(value: RawJson | None) -> list[RawJson]:
    """Decode a JSON list to undecoded elements; empty for None or null. Raises :class:`ShapeError`."""
    if value is None:
        return []
    try:
        return list(_LIST.decode(value) or ())
    except msgspec.DecodeError:
        return [item for _, item in _split(value, "[]")]


def encode_object(fields: Mapping[str, RawJson]) -> bytes:
    """Encode fields as a JSON object."""
    parts = [part for key, value in fields.items() for part in (b", ", encode_string(key), b": ", value)]
    return b"".join([b"{", *parts[1:], b"}"])


def encode_list(values: Iterable[RawJson]) -> bytes:
    """Encode values as a JSON list."""
    parts = [part for value in values for part in (b", ", value)]
    return b"".join([b"[", *parts[1:], b"]"])


def encode_string(value: str) -> bytes:
    """Encode a text as a JSON string."""
    return msgspec.json.encode(value)


def without_lone_surrogates(line: bytes) -> bytes:
    r"""Replace lone surrogates, such as ``\ud83d`` without its second half, by question marks."""
    return _ESCAPE.sub(lambda match: b"?" if match["lone"] else match[0], line)


def canonical(value: RawJson) -> bytes:
    """Return bytes that are equal for equal JSON values, whatever their spelling and the order of keys."""
    try:
        return msgspec.json.encode(msgspec.json.decode(value), order="sorted")
    except msgspec.DecodeError:  # NaN, or numbers that msgspec does not read
        sorted_keys: Any = json.loads(
            bytes(value), parse_int=Digits, object_pairs_hook=lambda pairs: dict(sorted(dict(pairs).items()))
        )
        return repr(sorted_keys).encode()


def with_change(fields: Mapping[str, RawJson], path: Sequence[str], change: Change) -> dict[str, RawJson]:
    """Return the fields with ``change`` applied at a path of keys; missing objects are created."""
    key, *inner = path
    old, after = fields.get(key), dict(fields)
    if inner:
        old_fields = {} if old is None or bytes(old) == b"null" else decode_object(old)
        new_fields = with_change(old_fields, inner, change)
        new = old if new_fields == old_fields else encode_object(new_fields)
    else:
        new = change(old)
    if new is None:
        after.pop(key, None)
    else:
        after[key] = new
    return after


def splice(raw: RawJson, old: Any, new: Any) -> RawJson:
    """Return the JSON of ``new``, where ``raw`` is the JSON of ``old``: equal parts keep their bytes.

    Unknown keys of records that change are kept, too. Raises :class:`ShapeError` for a duplicate key in an
    object that changes.
    """
    if new == old and type(new) is type(old):
        return raw
    if isinstance(new, StoredRecord) and type(new) is type(old):
        return _spliced_fields(raw, set_fields(old), set_fields(new))
    if isinstance(new, dict) and isinstance(old, dict):
        return _spliced_fields(raw, old, new)
    if isinstance(new, list) and isinstance(old, list):
        if isinstance(next(iter(new), None), StoredRecord):
            return _spliced_records(raw, old, new)
        if len(new) == len(old):
            return encode_list(map(splice, decode_list(raw), old, new))
    if isinstance(new, msgspec.Raw) and isinstance(old, msgspec.Raw):
        return splice(raw, json.loads(bytes(old)), json.loads(bytes(new)))
    return _json(new)


def _spliced_records(raw: RawJson, old: list[Any], new: list[Any]) -> bytes:
    """Match equal records, then changed ones with the same first field, which names a record."""
    rest = list(zip(old, decode_list(raw), strict=True))
    parts: dict[int, RawJson] = {}
    for is_same in (eq, _have_one_name):
        for index, item in enumerate(new):
            match = next((pair for pair in rest if index not in parts and is_same(pair[0], item)), None)
            if match is not None:
                rest.remove(match)
                parts[index] = splice(match[1], match[0], item)
    return encode_list(parts[index] if index in parts else _json(item) for index, item in enumerate(new))


def _have_one_name(old: StoredRecord, new: StoredRecord) -> bool:
    names = [next(iter(set_fields(record).values())) for record in (old, new)]
    return type(old) is type(new) and names[0] == names[1]


def _spliced_fields(raw: RawJson, old: Mapping[str, Any], new: Mapping[str, Any]) -> bytes:
    fields = decode_object(raw)
    for key in old.keys() - new.keys():
        del fields[key]
    for key, value in new.items():
        fields[key] = splice(fields[key], old[key], value) if key in old else _json(value)
    return encode_object(fields)


def _json(value: Any) -> bytes:
    if not isinstance(value, dict):
        return msgspec.json.encode(value)
    from pydantic_core import to_json  # noqa: PLC0415 - slow to import

    return to_json(value, inf_nan_mode="constants")
