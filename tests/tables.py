"""What reports hold, for tests."""

from __future__ import annotations

from typing import Any

from exam_pp.rendering.document import Paragraph, Report, Table


def tables_of(report: Report) -> dict[str, Table]:
    """The tables by their titles."""
    return {block.title: block for block in report.blocks if isinstance(block, Table)}


def rows_of(report: Report) -> list[dict[str, Any]]:
    """The rows of the only table, as column to cell."""
    (table,) = [block for block in report.blocks if isinstance(block, Table)]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def notes_of(report: Report) -> str:
    """The paragraphs."""
    return " ".join(block.text for block in report.blocks if isinstance(block, Paragraph))
