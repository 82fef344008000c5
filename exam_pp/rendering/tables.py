"""Rendering of the tables of a report as TSV and JSON."""

from __future__ import annotations

import json

from exam_pp.rendering.cells import format_rows, one_line, tsv_row
from exam_pp.rendering.document import Report, Table


def json_document(report: Report) -> str:
    """Render title, notes, provenance and tables as a JSON object; floats are not rounded."""
    document: dict[str, object] = {"title": report.title, "notes": report.notes}
    if report.provenance is not None:
        document["provenance"] = report.provenance.values
    document["tables"] = [
        {"title": table.title, "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows]}
        for table in _tables(report)
    ]
    return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def tsv(report: Report) -> str:
    """Render the tables, each with a header line.

    Several tables are separated by blank lines, and their titles are lines that start with ``#``.
    """
    tables = _tables(report)
    return "\n".join(_tsv_table(table, titled=len(tables) > 1) for table in tables)


def _tables(report: Report) -> list[Table]:
    return [block for block in report.blocks if isinstance(block, Table)]


def _tsv_table(table: Table, *, titled: bool) -> str:
    title = f"# {one_line(table.title)}\n" if titled and table.title else ""
    return title + "".join(map(tsv_row, format_rows(table)))
