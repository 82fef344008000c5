"""Strict numbers in files: in texts, ASCII digits with an optional sign, fraction and exponent.

Python's int and float also read ``1_0``, ``１``, blanks, ``nan`` and ``inf``.
"""

from __future__ import annotations

import math
import re

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")


def parse_integer(text: str) -> int:
    """Parse a whole number, such as ``3`` or ``-1``; raises ValueError for others, also ``1.0``."""
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def parse_number(text: str) -> float:
    """Parse a finite number, such as ``-1.5``, ``1.``, ``.5`` or ``1e-3``; raises ValueError for others."""
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not a finite number")
    return value


def is_integer(text: str) -> bool:
    """Whether :func:`parse_integer` parses the text."""
    return _INTEGER.fullmatch(text) is not None


def is_number(text: str) -> bool:
    """Whether :func:`parse_number` parses the text."""
    try:
        parse_number(text)
    except ValueError:
        return False
    return True


def number_of(value: object) -> float | None:
    """A decoded JSON number as a float; None for a text, a boolean, and a number that is not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer beyond the largest float
        return None
