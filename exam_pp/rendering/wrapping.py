"""Wrapping of table cells to the width of a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

GAP = "  "
"""Blanks between two columns of a table."""
NARROWEST = 12
"""Width to which a column of text is narrowed at most, in terminal columns."""
_COMFORTABLE = 24
"""Width of a column of text below which headers of numbers are wrapped instead."""


def cell_width(cell: str) -> int:
    """Width in terminal columns: 2 for a Chinese character, 0 for a combining accent."""
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len  # noqa: PLC0415 - for few tables

    return cell_len(cell)


def wrapped_rows(rows: Sequence[list[str]], numeric: Sequence[bool], width: int) -> list[list[list[str]]]:
    """Split rows into lines, so that the table fits into a terminal; see :func:`column_widths`."""
    widths = column_widths(rows, numeric, width - len(GAP) * (len(numeric) - 1))
    lines = []
    for row in rows:
        cells = [_wrapped(cell, size) for cell, size in zip(row, widths, strict=True)]
        lines.append([list(line) for line in zip_longest(*cells, fillvalue="")])
    return lines


def column_widths(rows: Sequence[Sequence[str]], numeric: Sequence[bool], free: int) -> list[int]:
    """The widths of columns whose sum is at most ``free`` if that is possible.

    The widest texts become narrower first, and words stay whole if possible. Numbers are not wrapped, only
    their headers, if texts would become narrow otherwise. No text becomes narrower than :data:`NARROWEST`.
    So a table with many columns can stay too wide.
    """
    columns = list(zip(*rows, strict=True))
    natural = [max(map(cell_width, column)) for column in columns]
    if sum(natural) <= free:
        return natural
    words = [_widest_word(column) for column in columns]
    numbers = [
        max(map(cell_width, column[1:]), default=0) if is_number else 0
        for column, is_number in zip(columns, numeric, strict=True)
    ]
    least = [
        high if is_number else max(word, min(high, _COMFORTABLE))
        for word, high, is_number in zip(words, natural, numeric, strict=True)
    ]
    if sum(least) > free:
        least = [max(word, number) for word, number in zip(words, numbers, strict=True)]
        pairs = zip(least, natural, numeric, strict=True)
        natural = [low if is_number else high for low, high, is_number in pairs]
    if sum(least) > free:
        pairs = zip(least, natural, numeric, strict=True)
        least = [low if is_number else min(low, NARROWEST) for low, _, is_number in pairs]
    return _up_to_limit(least, natural, free)


def _up_to_limit(least: Sequence[int], natural: Sequence[int], free: int) -> list[int]:
    """Widen columns from ``least``, all to the same limit, and the first ones by one more column."""
    widths = list(least)
    for limit in range(max(natural), 0, -1):
        widths = [max(low, min(high, limit)) for low, high in zip(least, natural, strict=True)]
        if sum(widths) <= free:
            break
    left = free - sum(widths)
    for column, high in enumerate(natural):
        if left > 0 and widths[column] < high:
            widths[column] += 1
            left -= 1
    return widths


def _widest_word(column: Sequence[str]) -> int:
    return max((cell_width(word) for cell in column for word in cell.split()), default=0)


def _wrapped(cell: str, width: int) -> list[str]:
    """Break a cell at its blanks, and words that are too long anywhere."""
    if cell_width(cell) <= width:
        return [cell]
    lines = [""]
    for word in cell.split():
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cell_width(longer) <= width:
            lines[-1] = longer
            continue
        first, *others = _pieces(word, width)
        if lines[-1]:
            lines.append(first)
        else:
            lines[-1] = first
        lines.extend(others)
    return lines


def _pieces(word: str, width: int) -> list[str]:
    if cell_width(word) <= width:
        return [word]
    from rich.cells import chop_cells  # noqa: PLC0415 - for few tables

    return chop_cells(word, width)
