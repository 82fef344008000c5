"""Rendering of the tables of a report as TSV."""

from __future__ import annotations

from collections.abc import Iterator

from exam_pp.rendering.cells import format_rows, one_line
from exam_pp.rendering.document import Report, Table


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
    return "\t".join(map(one_line, row)) + "\n"
