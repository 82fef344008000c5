"""Banks as CSV, for spreadsheets: one row an entry."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from exam_pp.errors import DataError
from exam_pp.store.files import read_text, write_text
from exam_pp.test_bank import BankLine, Entry

COLUMNS = (
    "query_id", "query_text", "facet_id", "facet_text", "kind", "text", "importance", "weight",
    "gold_answers", "entry_id", "test_collection",
)  # fmt: skip
_REQUIRED = ("query_id", "text")
# A spreadsheet would compute a cell that starts like a formula; it shows one that starts with ' as text.
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_BOM = "\ufeff"


class Row(NamedTuple):
    """The cells of an entry, as texts; empty where the bank says nothing.

    ``line`` is of the file; ``missing`` are the columns that it lacks.
    """

    query_id: str
    query_text: str = ""
    facet_id: str = ""
    facet_text: str = ""
    kind: str = ""
    text: str = ""
    importance: str = ""
    weight: str = ""
    gold_answers: str = ""
    entry_id: str = ""
    test_collection: str = ""
    line: int = 0
    missing: frozenset[str] = frozenset()


def row_of(line: BankLine, item: Entry) -> Row:
    """An entry as a row. Gold answers are a JSON list, as an empty one means "unanswerable"."""
    golds = item.gold_answers
    return Row(
        line.query_id,
        line.query_text,
        line.facet_id or "",
        line.facet_text or "",
        item.kind,
        item.text,
        item.importance or "",
        "" if item.weight == 1 else str(item.weight),
        "" if golds is None else json.dumps(golds, ensure_ascii=False),
        item.entry_id,
        line.test_collection,
    )


def write_bank_csv(lines: Iterable[BankLine], path: str | Path, *, inputs: Iterable[str | Path] = ()) -> None:
    """Write a bank as CSV with a header, in UTF-8 with the mark that spreadsheets look for.

    Raises :class:`DataError` for a query id without a letter.
    """
    stream = io.StringIO(newline="")
    writer = csv.writer(stream)
    writer.writerow(COLUMNS)
    for line in lines:
        if not line.query_id.strip():
            raise DataError(f"the query id {line.query_id!r} cannot stand in a table.")
        for item in line.items:
            writer.writerow([_guarded(str(cell)) for cell in row_of(line, item)[: len(COLUMNS)]])
    write_text(path, _BOM + stream.getvalue(), inputs=inputs)


def unused_cells(path: str | Path) -> Counter[str]:
    """How many cells the columns hold that :func:`read_bank_csv` ignores, by the column's name.

    Those behind the last column have the name ``""``.
    """
    unused: Counter[str] = Counter()
    for _, record in _records(path):
        filled = (name for name, cell in record.items() if "".join(cell or ""))  # one, or those behind
        unused.update(name or "" for name in filled if name not in COLUMNS)
    return unused


def read_bank_csv(path: str | Path) -> list[Row]:
    """The rows of a CSV that :func:`write_bank_csv` wrote and a spreadsheet may have edited.

    Columns may come in any order, unknown ones are ignored; the separator is a comma, semicolon or tab.
    Raises :class:`DataError` for missing columns, and for rows without query id or text.
    """
    rows = []
    for line, record in _records(path):
        cells = {name: _unguarded(record.get(name) or "") for name in COLUMNS}
        for name in _REQUIRED:
            if not cells[name].strip():
                raise DataError("is empty.", file=str(path), line=line, field=name)
        rows.append(Row(**cells, line=line, missing=frozenset(COLUMNS) - record.keys()))
    return rows


def _records(path: str | Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows that are not blank by the names of their columns, with the lines where they end."""
    content = read_text(path).removeprefix(_BOM)
    header = content.split("\n", 1)[0]
    separator = max(",;\t", key=header.count)
    try:
        reader = csv.DictReader(io.StringIO(content, newline=""), delimiter=separator, strict=True)
        names = reader.fieldnames or []
        if missing := [name for name in _REQUIRED if name not in names]:
            raise DataError(f"has no column {missing[0]!r}.", file=str(path), line=1)
        for record in reader:
            if any(record.values()):
                yield reader.line_num, record
    except csv.Error as error:
        raise DataError(f"is not a CSV file ({error}).", file=str(path)) from error


def _guarded(cell: str) -> str:
    return "'" + cell if _FORMULA.match(cell) else cell


def _unguarded(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
