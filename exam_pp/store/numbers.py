"""Strict numbers in files: in texts, ASCII digits with an optional sign, fraction and exponent.

Python's int and float also read ``1_0``, ``１``, blanks, ``nan`` and ``inf``.

In tables, the column says what a comma is: 0,873 is a fraction, and 1,200 beside 900 has thousands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection

_INTEGER = re.compile(r"[+-]?[0-9]+")
_WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
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


_MARKED = re.compile(r"[+-]?(?=[.,]?[0-9])[0-9]*(?P<mark>[.,])[0-9]*([eE][+-]?[0-9]+)?")
_GROUPED = re.compile(
    r"[+-]?[1-9][0-9]{0,2}(?P<mark>[.,])[0-9]{3}((?P=mark)[0-9]{3})*((?!(?P=mark))[.,][0-9]*)?"
)
_DOUBTFUL = re.compile(r"[+-]?[1-9][0-9]{0,2}[.,][0-9]{3}")
"""A number that is a fraction in one language, and has thousands in another."""
_LARGE = re.compile(r"[+-]?[1-9][0-9]{2,}")
_OTHER = {",": ".", ".": ","}


def decimal_mark(cells: Collection[str], *, whole: bool = False) -> str:
    """The mark before fractions in a column of numbers: a point or a comma.

    A number such as ``0,873``, ``1,5`` or ``1.200,5`` tells it. Without one, ``1,200`` has thousands beside a
    whole number of three digits; in a column of ``whole`` numbers, such as ranks, beside any. Points are
    fractions in doubt. Raises ValueError, with the remedy, for a column that leaves open what a mark is.
    """
    marks = set(filter(None, map(_shown_mark, cells)))
    doubtful = [cell for cell in cells if _DOUBTFUL.fullmatch(cell)]
    if len(marks) == 1 or not doubtful:
        return "," if marks == {","} else "."
    groups = {"," if "," in cell else "." for cell in doubtful}
    if not marks and len(groups) == 1:
        (group,) = groups
        beside = any((_INTEGER if whole else _LARGE).fullmatch(cell) for cell in cells)
        is_rounded = group == "," or whole or any(cell.endswith("0") for cell in doubtful)
        if (beside and is_rounded) or (whole and not all(cell.endswith("000") for cell in doubtful)):
            return _OTHER[group]
        if group == ".":
            return "."
    cell = doubtful[0]
    fraction = parse_number(cell.replace(",", "."))
    without = cell.replace(",", "").replace(".", "")
    raise ValueError(
        f"{cell!r} may be {without} or {fraction}, and no other number of the column tells which; write "
        f"{without}, or {fraction}"
    )


def _shown_mark(cell: str) -> str | None:
    """The decimal mark that a number shows; None if it shows none."""
    if _DOUBTFUL.fullmatch(cell):
        return None
    if match := _MARKED.fullmatch(cell):
        return match["mark"]
    grouped = _GROUPED.fullmatch(cell)
    return _OTHER[grouped["mark"]] if grouped else None


def plain_number(cell: str, mark: str) -> str:
    """A number of a column with this decimal mark, with a point and without thousands; other texts as is."""
    grouped = _GROUPED.fullmatch(cell)
    group = grouped["mark"] if grouped else mark
    plain = (cell if group == mark else cell.replace(group, "")).replace(",", ".")
    return plain if is_number(plain) else cell


def parse_whole(text: str) -> int:
    """Parse a whole number, also with a fraction of zeros, such as ``3.0``; raises ValueError for others."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text.partition(".")[0])


def number_of(value: object) -> float | None:
    """A decoded JSON number as a float; None for a text, a boolean, and a number that is not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:  # an integer beyond the largest float
        return None
