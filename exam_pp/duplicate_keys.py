"""Duplicate keys of JSON objects, of which readers keep only the last value."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec


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
