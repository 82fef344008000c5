"""The tables and paragraphs of reports as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from exam_pp.rendering.document import Report, Table


def json_document(report: Report) -> Iterator[str]:
    """The tables as JSON, floats unrounded: for scripts."""
    tables = (_json_table(block) for block in report.blocks if isinstance(block, Table))
    yield f'{{\n  "title": {_json(report.title)},\n  "notes": {_json(report.notes, depth=2)},\n  "tables": '
    yield from _json_list(tables, depth=2)
    yield "\n}\n"


def _json_table(table: Table) -> Iterator[str]:
    rows = ([_json(dict(zip(table.columns, row, strict=True)), depth=8)] for row in table.rows)
    yield f'{{\n      "title": {_json(table.title)},\n      "rows": '
    yield from _json_list(rows, depth=6)
    yield "\n    }"


def _json_list(items: Iterable[Iterable[str]], depth: int) -> Iterator[str]:
    """A list as ``json.dumps`` lays it out, item by item; ``depth`` is how far its line is indented."""
    empty = True
    for item in items:
        yield f"{'[' if empty else ','}\n{' ' * (depth + 2)}"
        yield from item
        empty = False
    yield "[]" if empty else f"\n{' ' * depth}]"


def _json(value: object, depth: int = 0) -> str:
    # No text holds a line end of its own in JSON.
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).replace("\n", "\n" + " " * depth)
