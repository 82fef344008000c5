"""Rendering of the tables of a report as TSV and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from exam_pp.rendering.cells import format_rows, one_line
from exam_pp.rendering.document import Report, Table
from exam_pp.text.spreadsheet_cells import for_spreadsheets


def json_document(report: Report) -> Iterator[str]:
    """Yield the parts of a JSON object with title, notes, provenance and tables; floats are not rounded."""
    tables = (_json_table(block) for block in report.blocks if isinstance(block, Table))
    yield f'{{\n  "title": {_json(report.title)},\n  "notes": {_json(report.notes, depth=2)},\n'
    if report.provenance is not None:
        yield f'  "provenance": {_json(report.provenance.values, depth=2)},\n'
    yield '  "tables": '
    yield from _json_list(tables, depth=2)
    yield "\n}\n"


def _json_table(table: Table) -> Iterator[str]:
    rows = ([_json(dict(zip(table.columns, row, strict=True)), depth=8)] for row in table.rows)
    yield f'{{\n      "title": {_json(table.title)},\n      "rows": '
    yield from _json_list(rows, depth=6)
    yield "\n    }"


def _json_list(items: Iterable[Iterable[str]], depth: int) -> Iterator[str]:
    """Yield a list item by item in the layout of ``json.dumps``; ``depth`` is the indentation of its line."""
    empty = True
    for item in items:
        yield f"{'[' if empty else ','}\n{' ' * (depth + 2)}"
        yield from item
        empty = False
    yield "[]" if empty else f"\n{' ' * depth}]"


def _json(value: object, depth: int = 0) -> str:
    # JSON escapes line ends in strings, so every line end here is one of the layout.
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).replace("\n", "\n" + " " * depth)


def tsv(report: Report) -> Iterator[str]:
    """Yield the lines of the tables, each with a header line.

    Several tables are separated by blank lines, and their titles are lines that start with ``#``.
    """
    tables = [block for block in report.blocks if isinstance(block, Table)]
    for number, table in enumerate(tables):
        if number:
            yield "\n"
        if len(tables) > 1 and table.title:
            yield f"# {one_line(table.title)}\n"
        yield from map(_tsv_row, format_rows(table))


def _tsv_row(row: list[str]) -> str:
    return "\t".join(for_spreadsheets(one_line(cell)) for cell in row) + "\n"
