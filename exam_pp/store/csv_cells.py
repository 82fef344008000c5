"""Cells of TSV and CSV files, whose columns may have alternative names in files of other tools."""

from __future__ import annotations

import csv
import io
import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.store.files import read_text, write_text
from exam_pp.text.spreadsheet_cells import is_formula, is_number
from exam_pp.text.wording import counted, listed


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


@dataclass(frozen=True)
class Layout:
    """The columns of a CSV format.

    Cells of the columns ``ids`` must not be empty. ``names`` are alternative names of columns.
    """

    required: Sequence[str]
    optional: Sequence[str] = ()
    ids: Collection[str] = ()
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass
class Cells:
    """The rows of a file, each as its last line number and its cells by column of the layout.

    ``unused`` counts the values that are not empty in each column outside the layout.
    """

    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)


def read_cells(path: str | Path, layout: Layout) -> Cells:
    """Read a CSV file, without whitespace around cells; optional columns may be missing.

    Raises :class:`DataError` for a missing required column or an empty id.
    """
    cells = Cells()
    used: dict[str, str] = {}
    for line, record in read_rows(path):
        used = used or _names_in_file(layout, record, path)
        row = {column: record[name] for column, name in used.items()}
        for column in layout.ids:
            if not row.get(column, "-"):
                raise DataError("is empty.", file=str(path), line=line, field=used[column])
        cells.rows.append((line, row))
        cells.unused.update(name for name, cell in record.items() if cell and name not in used.values())
    return cells


def _names_in_file(layout: Layout, record: Mapping[str, str], path: str | Path) -> dict[str, str]:
    """Map each column of the layout to its name in the file."""
    used: dict[str, str] = {}
    for column in (*layout.required, *layout.optional):
        names = (column, *layout.names.get(column, ()))
        match = next((name for name in names if name in record), None)
        if match is not None:
            used[column] = match
        elif column in layout.required:
            accepted = f" (or {', '.join(names[1:])})" if len(names) > 1 else ""
            raise DataError(f"the column {column!r}{accepted} is missing.", file=str(path), line=1)
    return used


def read_rows(path: str | Path) -> list[tuple[int, dict[str, str]]]:
    """Read a CSV file with a header as pairs (last line number, cells by column); cells are stripped.

    Raises :class:`DataError` if the file is not CSV, has no rows, or a column occurs twice.
    """
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), skipinitialspace=True, strict=True)
    try:
        with long_cells():
            rows = list(_rows(reader, path))
    except csv.Error as error:
        raise DataError(f"is not a CSV file ({error}).", file=str(path), line=reader.line_num) from error
    if not rows:
        raise DataError("has no rows.", file=str(path))
    return rows


def _rows(reader: csv.DictReader[str], path: str | Path) -> Iterator[tuple[int, dict[str, str]]]:
    names = [name.strip() for name in reader.fieldnames or ()]
    if duplicates := [name for name, count in Counter(names).items() if count > 1]:
        raise DataError(f"has the column {duplicates[0]!r} twice.", file=str(path), line=1)
    reader.fieldnames = names
    for record in reader:
        if None in record:
            raise DataError("has more cells than the header.", file=str(path), line=reader.line_num)
        if None in record.values():  # a missing cell is not an empty cell
            raise DataError("has fewer cells than the header.", file=str(path), line=reader.line_num)
        yield reader.line_num, {name: record[name].strip() for name in names}


def read_spreadsheet(path: str | Path, required: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Read a CSV file that a spreadsheet may have saved: with comma, semicolon or tab between cells.

    Returns an iterator over pairs of last line number and cells by column, without blank rows. As in Python's
    csv module, a missing cell is None, and cells after the last column are a list under the key None.
    """
    content = read_text(path).removeprefix(BOM)
    header = content.split("\n", 1)[0]
    separator = max(",;\t", key=header.count)
    try:
        reader = csv.DictReader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
        names = reader.fieldnames or []
        if missing := [name for name in required if name not in names]:
            shown = listed([name for name in names if name]) or "none"
            problem = f"has no column {missing[0]!r}; rename one of its columns ({shown})."
            raise DataError(problem, file=str(path), line=1)
        if twice := [name for name, count in Counter(names).items() if name and count > 1]:
            raise DataError(f"has the column {twice[0]!r} twice.", file=str(path), line=1)
        for record in reader:
            if any(record.values()):
                yield reader.line_num, record
    except csv.Error as error:
        raise DataError(f"is not a CSV file ({error}).", file=str(path)) from error


@contextmanager
def long_cells() -> Iterator[None]:
    """Let Python's csv module read cells of more than 128 kB inside the block; the limit is process-wide."""
    limit = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


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
