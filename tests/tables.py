"""Tables, rows, notes and pictures of reports, for tests."""

from __future__ import annotations

from typing import Any

from exam_pp.rendering.document import Paragraph, Picture, Report, Table


def tables_of(report: Report) -> dict[str, Table]:
    """Title to table."""
    return {block.title: block for block in report.blocks if isinstance(block, Table)}


def rows_of(report: Report) -> list[dict[str, Any]]:
    """The rows of the report's only table, as dictionaries of column and cell."""
    (table,) = [block for block in report.blocks if isinstance(block, Table)]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def notes_of(report: Report) -> str:
    """The text of all paragraphs."""
    return " ".join(block.text for block in report.blocks if isinstance(block, Paragraph))


def pictures_of(report: Report) -> dict[str, Picture]:
    """Title to picture."""
    return {block.title: block for block in report.blocks if isinstance(block, Picture)}
