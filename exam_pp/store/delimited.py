"""Cells of delimited text (TSV, CSV), line by line."""

from __future__ import annotations

import csv

from exam_pp.errors import DataError


def check_name(name: str) -> None:
    """Raises :class:`DataError` for a name that a table with tabs cannot hold."""
    if name != name.strip() or not name or set(name) & set("\t\n\r"):
        raise DataError(f"the name {name!r} cannot stand in a table.")


def cells_of(line: str, separator: str | None = None) -> list[str]:
    """The cells of a line without the white space around them; tabs separate if there are any, else commas.

    Between commas a cell may be quoted, as in CSV; a cell between tabs is taken as it is. Raises
    :class:`DataError` for a quoted cell of more than 128 kB.
    """
    separator = separator or ("\t" if "\t" in line else ",")
    cells = line.split(separator)
    if separator == "," and '"' in line:
        try:
            (cells,) = csv.reader([line], skipinitialspace=True)
        except csv.Error as error:
            raise DataError(f"A line of a table is no CSV: {error}.") from error
    return [cell.strip() for cell in cells]
