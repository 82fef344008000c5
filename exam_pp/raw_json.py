"""Editing JSON without decoding all of it: values that are not edited keep their bytes and key order.

Edited records are written as in the published files, with a space after colons and commas.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from exam_pp.duplicate_keys import Digits, first_duplicate

RawJson = msgspec.Raw | bytes
"""A JSON value that is not decoded."""

Change = Callable[[RawJson | None], RawJson | None]
"""Maps an old value to a new value; None means that the key is absent, or is removed."""

_RECORD = msgspec.json.Decoder(dict[str, msgspec.Raw])
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
        fields: dict[str, RawJson] = dict(_RECORD.decode(record))
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
    if not fields:
        return memoryview(record).nbytes == len(b"{}")
    keys, data = list(map(encode_string, fields)), bytes(record)
    if data.startswith(b": ", 1 + len(keys[0])):
        return data == b"{%b}" % b", ".join(map(b"%b: %b".__mod__, zip(keys, fields.values(), strict=True)))
    # At the smallest possible size, no byte is left for another member.
    return len(data) == sum(map(len, keys)) + sum(map(_size, fields.values())) + 2 * len(keys) + 1


def _size(value: RawJson) -> int:
    return memoryview(value).nbytes


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
    return b"{%b}" % b", ".join(b"%b: %b" % (encode_string(key), value) for key, value in fields.items())


def encode_list(values: Iterable[RawJson]) -> bytes:
    """Encode values as a JSON list."""
    return b"[%b]" % b", ".join(values)


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


def text_at(record: RawJson, key: str) -> str:
    """Return the decoded value of a field of a JSON object as text; raises KeyError if it is missing."""
    return str(json.loads(bytes(decode_object(record)[key])))


def changed(fields: Mapping[str, RawJson], path: Sequence[str], change: Change) -> dict[str, RawJson]:
    """Return the fields with ``change`` applied at a path of keys; missing objects are created."""
    key, *inner = path
    old, after = fields.get(key), dict(fields)
    if inner:
        old_fields = {} if old is None or bytes(old) == b"null" else decode_object(old)
        new_fields = changed(old_fields, inner, change)
        new = old if new_fields == old_fields else encode_object(new_fields)
    else:
        new = change(old)
    if new is None:
        after.pop(key, None)
    else:
        after[key] = new
    return after


def updated(value: RawJson, before: RawJson, after: RawJson) -> RawJson:
    """Apply the difference between ``before`` and ``after`` to a value; equal parts keep its bytes.

    ``before`` is the value in another spelling. Raises :class:`ShapeError` for a duplicate key in an object
    that changes.
    """
    if bytes(before) == bytes(after):
        return value
    starts = {bytes(part)[:1] for part in (value, before, after)}
    if starts == {b"{"}:
        fields, old, new = decode_object(value), decode_object(before), decode_object(after)
        kept = {key: part for key, part in fields.items() if key in new or key not in old}
        return encode_object(
            kept | {key: _updated_member(key, part, fields, old) for key, part in new.items()}
        )
    if starts == {b"["}:
        lists = [decode_list(part) for part in (value, before, after)]
        if len(set(map(len, lists))) == 1:
            return encode_list(updated(*parts) for parts in zip(*lists, strict=True))
    return after


def _updated_member(
    key: str, new: RawJson, fields: Mapping[str, RawJson], old: Mapping[str, RawJson]
) -> RawJson:
    return updated(fields[key], old[key], new) if key in fields and key in old else new
