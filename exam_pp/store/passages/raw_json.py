"""Editing JSON without decoding all of it: values that are not edited keep their bytes and key order.

Edited records are written as in the published files, with a space after colons and commas.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

RawJson = msgspec.Raw | bytes
"""A JSON value that is not decoded."""

Change = Callable[[RawJson | None], RawJson | None]
"""Maps an old value to a new value; None means that the key is absent, or is removed."""

_RECORD = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw] | None)


class ShapeError(ValueError):
    """JSON of an unexpected type, or an object with a duplicate key, whose values an edit would not keep."""


def decode_object(record: RawJson) -> dict[str, RawJson]:
    """Decode a JSON object to key and undecoded value, in order; raises :class:`ShapeError`."""
    try:
        fields: dict[str, RawJson] = dict(_RECORD.decode(record))
    except msgspec.DecodeError:  # NaN or Infinity, which only Python's json module reads
        values: Any = json.loads(bytes(record), object_pairs_hook=_refuse_duplicates)
        if not isinstance(values, dict):
            raise ShapeError("is not a JSON object.") from None
        return {key: json.dumps(value, ensure_ascii=False).encode() for key, value in values.items()}
    if _size(record) not in _possible_sizes(fields):  # a duplicate key may have been dropped
        json.loads(bytes(record), object_pairs_hook=_refuse_duplicates)
    return fields


def _size(value: RawJson) -> int:
    return memoryview(value).nbytes


def _possible_sizes(fields: Mapping[str, RawJson]) -> tuple[int, int]:
    """Return the size in bytes of an object of these fields, with and without spaces after separators."""
    content = sum(len(encode_string(key)) + _size(value) for key, value in fields.items())
    separators = max(2 * len(fields) - 1, 0)
    return content + 2 + 2 * separators, content + 2 + separators


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ShapeError(f"has the key {_duplicate(pairs)!r} twice.")
    return record


def _duplicate(pairs: list[tuple[str, Any]]) -> str:
    """Return the first key that occurs more than once."""
    return next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)


def duplicate_key(value: RawJson) -> str | None:
    """Return a duplicate key of any object in a JSON value, or None."""
    duplicates: list[str] = []

    def check(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            duplicates.append(_duplicate(pairs))

    json.loads(bytes(value), object_pairs_hook=check)
    return duplicates[0] if duplicates else None


def decode_list(value: RawJson | None) -> list[RawJson]:
    """Decode a JSON list to undecoded elements; empty for None or null. Raises :class:`ShapeError`."""
    if value is None:
        return []
    try:
        return list(_LIST.decode(value) or ())
    except msgspec.DecodeError:
        items = json.loads(bytes(value))
        if not isinstance(items, list):
            raise ShapeError("is not a JSON list.") from None
        return [json.dumps(item, ensure_ascii=False).encode() for item in items]


def encode_object(fields: Mapping[str, RawJson]) -> bytes:
    """Encode fields as a JSON object."""
    return b"{%b}" % b", ".join(b"%b: %b" % (encode_string(key), value) for key, value in fields.items())


def encode_list(values: Iterable[RawJson]) -> bytes:
    """Encode values as a JSON list."""
    return b"[%b]" % b", ".join(values)


def encode_string(value: str) -> bytes:
    """Encode a text as a JSON string."""
    return msgspec.json.encode(value)


def canonical(value: RawJson) -> bytes:
    """Encode a JSON value with sorted keys and without spaces, so that equal values have equal bytes."""
    try:
        return msgspec.json.encode(msgspec.json.decode(value), order="sorted")
    except (msgspec.DecodeError, msgspec.ValidationError):
        return json.dumps(json.loads(bytes(value)), sort_keys=True).encode()


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
