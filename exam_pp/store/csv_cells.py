"""CSV files of other tools: rows by the names of their columns, which may have several."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.store.files import read_text, write_text


@dataclass(frozen=True)
class Layout:
    """The columns of a kind of file.

    ``ids`` are never empty. ``names`` are what a column may be called beside its own name.
    """

    required: Sequence[str]
    optional: Sequence[str] = ()
    ids: Collection[str] = ()
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass
class Cells:
    """The rows of a file by the columns of its layout, each with its line.

    ``unused`` counts the values of every other column.
    """

    rows: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    unused: Counter[str] = field(default_factory=Counter)


def read_cells(path: str | Path, layout: Layout) -> Cells:
    """The rows of a CSV file, white space around cells removed; an optional column may be absent.

    Raises :class:`DataError` for a required column that is missing, and an id that is empty.
    """
    cells = Cells()
    used: dict[str, str] = {}
    for line, record in read_rows(path):
        used = used or _used(layout, record, path)
        row = {column: record[name] for column, name in used.items()}
        for column in layout.ids:
            if not row.get(column, "-"):
                raise DataError("is empty.", file=str(path), line=line, field=used[column])
        cells.rows.append((line, row))
        cells.unused.update(name for name, cell in record.items() if cell and name not in used.values())
    return cells


def _used(layout: Layout, record: Mapping[str, str], path: str | Path) -> dict[str, str]:
    """Column to its name in the file."""
    used: dict[str, str] = {}
    for column in (*layout.required, *layout.optional):
        names = (column, *layout.names.get(column, ()))
        found = next((name for name in names if name in record), None)
        if found is not None:
            used[column] = found
        elif column in layout.required:
            others = f" ({', '.join(names)})" if len(names) > 1 else ""
            raise DataError(f"has no column {column!r}{others}.", file=str(path), line=1)
    return used


def read_rows(path: str | Path) -> list[tuple[int, dict[str, str]]]:
    """The rows of a CSV file with a header, each with its last line; white space around cells is removed.

    Raises :class:`DataError` for what is no such file, and a column that occurs twice.
    """
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), skipinitialspace=True, strict=True)
    try:
        with long_cells():
            rows = list(_rows(reader, path))
    except csv.Error as error:
        raise DataError(f"is not a CSV file ({error}).", file=str(path), line=reader.line_num) from error
    if not rows:
        raise DataError("holds no rows.", file=str(path))
    return rows


def _rows(reader: csv.DictReader[str], path: str | Path) -> Iterator[tuple[int, dict[str, str]]]:
    names = [name.strip() for name in reader.fieldnames or ()]
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise DataError(f"has the column {twice[0]!r} twice.", file=str(path), line=1)
    reader.fieldnames = names
    for record in reader:
        if None in record:
            raise DataError("has more cells than the header.", file=str(path), line=reader.line_num)
        if None in record.values():  # what is cut off is not empty
            raise DataError("has fewer cells than the header.", file=str(path), line=reader.line_num)
        yield reader.line_num, {name: record[name].strip() for name in names}


@contextmanager
def long_cells() -> Iterator[None]:
    """Lets Python's reader take cells of more than 128 kB, as documents have; its limit is of the process."""
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
    """Write a CSV file; raises :class:`DataError` for an id that is empty or has white space around it."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)  # Python quotes a carriage return only where it ends lines
    writer.writerow(columns)
    for row in rows:
        for column, cell in zip(columns, row, strict=True):
            if column in ids:
                checked_id(cell)
        writer.writerow(row)
    write_text(path, stream.getvalue(), inputs=inputs)


def checked_id(identifier: str) -> str:
    """The id itself; raises :class:`DataError` if it is empty or has white space around it."""
    if not identifier or identifier != identifier.strip():
        raise DataError(f"the id {identifier!r} cannot stand in a table.")
    return identifier
