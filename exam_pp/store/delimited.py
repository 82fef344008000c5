"""Cells of delimited text (TSV, CSV), line by line."""

from __future__ import annotations

import csv

from exam_pp.errors import DataError


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
