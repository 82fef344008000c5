"""JSON of which only what is needed is decoded: the rest keeps its bytes, and the order of its keys.

Putting records together again uses the spelling of the published files, a blank after colons and commas.
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
"""What to put in the place of a value; None is a value that is not there."""

_RECORD = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw] | None)


class ShapeError(ValueError):
    """JSON that cannot be taken apart: it is of another type, or a key stands there twice.

    Putting an object together again would lose one of the values.
    """


def fields_of(record: RawJson) -> dict[str, RawJson]:
    """The fields of a JSON object, in order; raises :class:`ShapeError`."""
    try:
        fields: dict[str, RawJson] = dict(_RECORD.decode(record))
    except msgspec.DecodeError:  # NaN and Infinity, which only Python's json module knows
        values: Any = json.loads(bytes(record), object_pairs_hook=_refuse_duplicates)
        if not isinstance(values, dict):
            raise ShapeError("is not a JSON object.") from None
        return {key: json.dumps(value, ensure_ascii=False).encode() for key, value in values.items()}
    if _size(record) not in _usual_sizes(fields):  # a key may have been lost
        json.loads(bytes(record), object_pairs_hook=_refuse_duplicates)
    return fields


def _size(value: RawJson) -> int:
    return memoryview(value).nbytes


def _usual_sizes(fields: Mapping[str, RawJson]) -> tuple[int, int]:
    """How long an object of these fields is, spelt with and without blanks."""
    content = sum(len(text_of(key)) + _size(value) for key, value in fields.items())
    marks = max(2 * len(fields) - 1, 0)
    return content + 2 + 2 * marks, content + 2 + marks


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ShapeError(f"the key {_twice(pairs)!r} stands there twice.")
    return record


def _twice(pairs: list[tuple[str, Any]]) -> str:
    """The first key that stands there again."""
    return next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)


def repeated_key(value: RawJson) -> str | None:
    """A key that stands twice in one of the objects of a JSON value; None without any."""
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        if len(dict(pairs)) < len(pairs):
            found.append(_twice(pairs))

    json.loads(bytes(value), object_pairs_hook=note)
    return found[0] if found else None


def list_of(value: RawJson | None) -> list[RawJson]:
    """The members of a JSON list; none where it is absent or null. Raises :class:`ShapeError`."""
    if value is None:
        return []
    try:
        return list(_LIST.decode(value) or ())
    except msgspec.DecodeError:
        items = json.loads(bytes(value))
        if not isinstance(items, list):
            raise ShapeError("is not a JSON list.") from None
        return [json.dumps(item, ensure_ascii=False).encode() for item in items]


def record_of(fields: Mapping[str, RawJson]) -> bytes:
    """A JSON object of these fields."""
    return b"{%b}" % b", ".join(b"%b: %b" % (text_of(key), value) for key, value in fields.items())


def joined(values: Iterable[RawJson]) -> bytes:
    """A JSON list of these values."""
    return b"[%b]" % b", ".join(values)


def text_of(value: str) -> bytes:
    """A JSON string."""
    return msgspec.json.encode(value)


def canonical(value: RawJson) -> bytes:
    """The same bytes for equal values, however they are spelt and in whatever order their keys are."""
    try:
        return msgspec.json.encode(msgspec.json.decode(value), order="sorted")
    except (msgspec.DecodeError, msgspec.ValidationError):
        return json.dumps(json.loads(bytes(value)), sort_keys=True).encode()


def text_at(record: RawJson, key: str) -> str:
    """A text (or a number, as a text) in a JSON object."""
    return str(json.loads(bytes(fields_of(record)[key])))


def changed(fields: Mapping[str, RawJson], path: Sequence[str], change: Change) -> dict[str, RawJson]:
    """The fields with another value at a path of keys; objects on the way are made where they are absent."""
    key, *inner = path
    old, after = fields.get(key), dict(fields)
    if inner:
        within = {} if old is None or bytes(old) == b"null" else fields_of(old)
        new_within = changed(within, inner, change)
        new = old if new_within == within else record_of(new_within)
    else:
        new = change(old)
    if new is None:
        after.pop(key, None)
    else:
        after[key] = new
    return after
