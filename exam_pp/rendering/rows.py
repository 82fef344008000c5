"""Rows as text, TSV, CSV, JSON, JSON lines or Markdown, written as they come, or drawn on a terminal."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import IO, Any, Literal

from exam_pp.rendering.cells import format_rows, is_numeric, tsv_row
from exam_pp.rendering.document import Cell, Report, Table
from exam_pp.rendering.render import render
from exam_pp.rendering.wrapping import column_widths
from exam_pp.text.spreadsheet_cells import for_spreadsheets
from exam_pp.text.wording import printable

_BATCH = 1000


def write_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], stream: IO[bytes], form: str) -> None:
    """Write a table as text, tsv, json, jsonl, md or csv, in UTF-8.

    ``text`` and ``md`` keep all rows in memory to align the columns and round floats; the other formats
    stream and keep all digits. Duplicate column names are numbered. NULL is an empty cell, in JSON null. In
    CSV and TSV, texts that a spreadsheet would run as formulas get an apostrophe before them; numbers do not.
    """
    columns = unique(columns)
    match form:
        case "tsv" | "csv":
            _separated(columns, rows, "\t" if form == "tsv" else ",", stream)
        case "jsonl":
            for row in rows:
                stream.write(_object(columns, row).encode() + b"\n")
        case "json":
            _json(columns, rows, stream)
        case _:
            stream.write(render(Report("", [table(columns, rows)]), form).encode())


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Make a report table of database rows, whose values become cells."""
    return Table(columns, [[_cell(value) for value in row] for row in rows])


def unique(columns: Sequence[str]) -> list[str]:
    """Make column names unique: duplicates get the suffix ``_2``, ``_3`` ..."""
    seen: Counter[str] = Counter()
    names: list[str] = []
    for name in columns:
        seen[name] += 1
        new = name if seen[name] == 1 else f"{name}_{seen[name]}"
        while new in names or (new != name and new in columns):
            seen[name] += 1
            new = f"{name}_{seen[name]}"
        names.append(new)
    return names


def _cell(value: Any) -> Cell:
    """Convert a database value to a cell; lists and structs become JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    plain = _plain(value)
    if isinstance(plain, bool):
        return "true" if plain else "false"
    if isinstance(plain, list | dict):
        return json.dumps(plain, ensure_ascii=False)
    return plain  # type: ignore[no-any-return]


def _plain(value: Any) -> Any:
    """Convert a database value to a JSON value; NaN and infinity become None."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case list() | tuple():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case bytes():
            return value.hex()
        case _:
            return str(value)


def _object(columns: Sequence[str], row: Sequence[Any]) -> str:
    return json.dumps(dict(zip(columns, map(_plain, row), strict=True)), ensure_ascii=False)


def _json(columns: Sequence[str], rows: Iterable[Sequence[Any]], stream: IO[bytes]) -> None:
    start = "["
    for row in rows:
        stream.write(f"{start}\n {_object(columns, row)}".encode())
        start = ","
    stream.write(b"[]\n" if start == "[" else b"\n]\n")


def _separated(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], separator: str, stream: IO[bytes]
) -> None:
    lines = chain([list(columns)], ([_text(value) for value in row] for row in rows))
    while batch := list(islice(lines, _BATCH)):
        if separator == "\t":
            stream.write("".join(map(tsv_row, batch)).encode())
        else:
            buffer = io.StringIO(newline="")
            plain = csv.writer(buffer, lineterminator="\n")
            quoted = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_ALL)
            for cells in batch:
                row = list(map(for_spreadsheets, cells))
                # With this line terminator, csv.writer does not quote "\r".
                (quoted if any("\r" in text for text in row) else plain).writerow(row)
            stream.write(buffer.getvalue().encode())


def _text(value: Any) -> str:
    shown = _cell(value)
    return "" if shown is None else str(shown)


MAX_ROWS = 200
"""Maximum number of rows that are drawn."""


def draw_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, max_rows: int = MAX_ROWS) -> bool:
    """Draw a table on standard output; returns True if rows beyond ``max_rows`` were left out."""
    from rich.console import Console  # noqa: PLC0415 - only for terminals
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    iterator = iter(rows)
    shown = table(unique(columns), islice(iterator, max_rows))
    more = next(iterator, None) is not None
    cells = [[printable(cell) for cell in row] for row in format_rows(shown)]
    numeric = [is_numeric(shown, number) for number in range(len(cells[0]))]
    console, drawing = Console(), Table()
    widths = column_widths(cells, numeric, console.width - 3 * len(numeric) - 1)  # 3: line and two blanks
    for name, is_number, width in zip(cells[0], numeric, widths, strict=True):
        # rich alone would break numbers anywhere. As Text, because it reads brackets in a string as markup.
        side: Literal["left", "right"] = "right" if is_number else "left"
        drawing.add_column(Text(name), justify=side, overflow="fold", min_width=width, max_width=width)
    for row in cells[1:]:
        drawing.add_row(*map(Text, row))
    console.print(drawing, crop=False)
    return more
