"""Cells of leaderboards, and writing of CSV files for other tools."""

from __future__ import annotations

import csv
import io
import logging
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.store.files import write_text
from exam_pp.text.spreadsheet_cells import is_formula, is_number
from exam_pp.text.wording import counted


def check_name(name: str) -> None:
    """Raise :class:`DataError` for a name that cannot be a cell of a tab-separated table."""
    if name != name.strip() or not name or set(name) & set("\t\n\r"):
        raise DataError(
            f"the name {name!r} cannot be written to a table: it is empty, has whitespace around it, or "
            "contains a tab or line break."
        )


def cells_of(line: str, separator: str | None = None) -> list[str]:
    """Split a line at its tabs, or at its commas if it has no tab, and strip the cells.

    Comma-separated cells may be quoted, as in CSV; quotes in tab-separated cells are kept. Raises
    :class:`DataError` for a quoted cell of more than 128 kB.
    """
    separator = separator or ("\t" if "\t" in line else ",")
    cells = line.split(separator)
    if separator == "," and '"' in line:
        try:
            (cells,) = csv.reader([line], skipinitialspace=True)
        except csv.Error as error:
            raise DataError(f"A line of the table is not valid CSV: {error}.") from error
    return [cell.strip() for cell in cells]


log = logging.getLogger(__name__)

BOM = "\ufeff"
"""The byte order mark, with which spreadsheets may begin CSV files in UTF-8."""


def write_cells(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    path: str | Path,
    *,
    ids: Collection[str] = (),
    inputs: Iterable[str | Path] = (),
) -> None:
    """Write a CSV file for another tool, which reads its cells as they are.

    Cells that a spreadsheet would run as formulas are counted in a warning. Raises :class:`DataError` for an
    id that is empty or has whitespace around it.
    """
    formulas = 0
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)  # quotes cells with "\r", because its default line end is "\r\n"
    writer.writerow(columns)
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if column in ids:
                checked_id(cell)
        formulas += sum(map(_is_run, row))
        writer.writerow(row)
    write_text(path, stream.getvalue(), inputs=inputs)
    if formulas:
        begin = counted(formulas, "cell begins", "cells begin")
        log.warning(
            "%s: %s like a formula (=, +, -, @). Import the columns into a spreadsheet as text.", path, begin
        )


def _is_run(cell: str) -> bool:
    """Whether a spreadsheet may run the cell, which is not a number."""
    return is_formula(cell) and not cell.startswith("'") and not is_number(cell)


def checked_id(identifier: str) -> str:
    """Return the id; raises :class:`DataError` if it is empty or has whitespace around it."""
    if not identifier or identifier != identifier.strip():
        raise DataError(
            f"the id {identifier!r} cannot be written to a table: it is empty or has whitespace around it."
        )
    return identifier
