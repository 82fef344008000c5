"""Cells of leaderboards, and writing of CSV files for other tools."""

from __future__ import annotations

import csv
import io
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from exam_pp.errors import DataError
from exam_pp.store.files import write_text
from exam_pp.store.numbers import decimal_mark, plain_number
from exam_pp.text.spreadsheet_cells import is_decimal, is_formula, unescaped
from exam_pp.text.wording import counted


def check_name(name: str) -> None:
    """Raise :class:`DataError` for a name that cannot be a cell of a tab-separated table."""
    if name != name.strip() or not name or set(name) & set("\t\n\r"):
        raise DataError(
            f"the name {name!r} cannot be written to a table: it is empty, has whitespace around it, or "
            "contains a tab or line break."
        )


def separator_of(line: str) -> str:
    """What separates the cells of a header: a tab, or whichever there is more of, semicolons or commas."""
    return "\t" if "\t" in line else max(";,", key=line.count)


def is_separator_line(line: str) -> bool:
    """Whether a line is ``sep=;``, which tells Excel the separator, and which is no row."""
    return re.fullmatch(r'"?sep=.?"?', line.strip(" \r\n"), re.IGNORECASE) is not None


QUOTES = (
    "A quotation mark opens a cell that another must close before the next separator: write one that is text "
    'twice, as in "5"" pipes".'
)


def split_rows(
    lines: Iterator[str], separator: str, *, quoted: bool, padded: bool
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the lines and the cells of each row, without blanks before quoted cells if these are ``padded``.

    Raises csv.Error for a quotation mark that opens a cell and does not end it.
    """
    for line in lines:
        if quoted and '"' in line:
            record: list[str] = []
            kept = _kept(chain([line], lines), record)
            yield record, next(csv.reader(kept, delimiter=separator, strict=True, skipinitialspace=padded))
        else:
            yield [line], line.rstrip("\r\n").split(separator)


def _kept(lines: Iterable[str], record: list[str]) -> Iterator[str]:
    for line in lines:
        record.append(line)
        yield line


def are_rows(record: list[str], separator: str, width: int) -> bool:
    """Whether each line of a row is a row by itself, if quotation marks are characters."""
    return all(line.count(separator) == width - 1 for line in record)


_DOUBLED = re.compile(r'(^|\t)"[^\t]*""[^\t]*[^\t\r\n]', re.MULTILINE)


def is_quoted(first: str, lines: Iterator[str], width: int) -> bool:
    """Whether all of a TSV file is quoted as CSV is, and has no other reading.

    It has none if its header is quoted, if quotation marks in a cell are doubled, or if its lines are no
    rows.
    """
    must = first.startswith('"')
    try:
        for record, cells in split_rows(lines, "\t", quoted=True, padded=False):
            if '"' in record[0]:
                if len(cells) > width or (len(cells) < width and len(record) > 1):
                    return False
                plain = "".join(record)
                is_split = plain.count("\n") + plain.count("\t") > len(cells)
                must |= bool(_DOUBLED.search(plain)) or (is_split and not are_rows(record, "\t", width))
    except csv.Error:
        return False
    return must


def split_cells(line: str) -> list[str]:
    """Split a line at its tabs, and strip the cells, also of the apostrophe before a formula."""
    return [unescaped(cell.strip()) for cell in line.split("\t")]


def numbered_rows(
    lines: Sequence[tuple[int, str]], path: str | Path, separator: str = ""
) -> list[tuple[int, list[str]]]:
    """The last line number and the cells of each row of a table, which may be separated as its first line.

    Quotes in tab-separated cells are kept. Raises :class:`DataError` for a quotation mark in other tables
    that opens a cell and does not end it.
    """
    separator = separator or separator_of("".join(text for _, text in lines[:1]))
    texts = (f"{text}\n" for _, text in lines)
    rows: list[tuple[int, list[str]]] = []
    place = 0
    try:
        for record, cells in split_rows(texts, separator, quoted=separator != "\t", padded=True):
            place += len(record)
            rows.append((lines[place - 1][0], [unescaped(cell.strip()) for cell in cells]))
    except csv.Error as error:
        problem = f"is not a row of CSV ({error}). {QUOTES}"
        raise DataError(problem, file=str(path), line=lines[place][0]) from error
    return rows


def plain_numbers(cells: Sequence[str], path: str | Path, column: str, *, whole: bool = False) -> list[str]:
    """The cells of a column, whose numbers become decimals with a point; raises :class:`DataError`."""
    try:
        mark = decimal_mark(cells, whole=whole)
    except ValueError as error:
        raise DataError(f"{error}.", file=str(path), field=column) from error
    return [plain_number(cell, mark) for cell in cells]


def plain_name(name: str) -> str:
    """The name of a column without case, blanks and punctuation."""
    return re.sub(r"[\W_]+", "", name).lower()


_SYSTEMS = (
    "system", "systemid", "systemname", "run", "runid", "runname", "runtag", "tag", "submission", "method",
    "model", "agent", "agentid", "team", "group",
)  # fmt: skip
"""Names of a column of systems, in order of preference: a team may have several."""
NUMBERING = ("", "unnamed0", "rank", "position", "place", "no", "nr")
"""Names of a column that numbers the rows of a leaderboard, or ranks its systems."""


def system_first(rows: list[list[str]]) -> list[list[str]]:
    """The rows of a leaderboard, with a header, whose column of systems comes first.

    It is found by its name, else it is the first column, or the next one if that has numbers of rows or
    ranks.
    Names of rows without a header, as R writes them, get an empty one.
    """
    header, *body = rows
    body = [row for row in body if len(row) > 1]
    if body and all(len(row) == len(header) + 1 for row in body):
        header.insert(0, "")
    names = [plain_name(name) for name in header]
    is_numbered = names[0] in NUMBERING and any(not is_decimal(row[1]) for row in body)
    by_name = (names.index(name) for name in (*_SYSTEMS, *names[is_numbered:]) if name in names)
    place = 0 if names[0] in _SYSTEMS[:-2] else next(by_name, 0)
    return [[*row[place : place + 1], *row[:place], *row[place + 1 :]] for row in rows]


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
    return is_formula(cell) and not cell.startswith("'") and not is_decimal(cell)


def checked_id(identifier: str) -> str:
    """Return the id; raises :class:`DataError` if it is empty or has whitespace around it."""
    if not identifier or identifier != identifier.strip():
        raise DataError(
            f"the id {identifier!r} cannot be written to a table: it is empty or has whitespace around it."
        )
    return identifier
