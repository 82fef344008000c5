"""Strict numbers in text files: ASCII digits, without the underscores that Python's int and float allow."""

from __future__ import annotations

import math


def parse_integer(text: str) -> int:
    """Parse a whole number, such as ``3`` or ``-1``; raises ValueError for ``1_0``, ``１`` and ``1.0``."""
    _check_digits(text)
    return int(text)


def parse_number(text: str) -> float:
    """Parse a number, also ``nan`` and ``inf``; raises ValueError for ``1_0`` and ``１``."""
    _check_digits(text)
    return float(text)


def parse_finite(text: str) -> float:
    """Like :func:`parse_number`; raises ValueError for ``nan`` and ``inf``."""
    value = parse_number(text)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is not finite")
    return value


def is_number(text: str) -> bool:
    """Whether :func:`parse_number` parses the text."""
    try:
        parse_number(text)
    except ValueError:
        return False
    return True


def _check_digits(text: str) -> None:
    if "_" in text or not text.isascii():
        raise ValueError(f"{text!r} is not a number")
