"""Formatting of cells and rows that all renderers share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from exam_pp.rendering.document import Cell, Table

WIDTH = 100
"""Line width of paragraphs in text and Markdown, in characters."""

# Passages can contain control characters, which would clear or overwrite the terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def format_cell(cell: Cell, decimals: int) -> str:
    """Format a cell for text and TSV: floats with fixed decimals, None as an empty string."""
    if cell is None:
        return ""
    return f"{cell:z.{decimals}f}" if isinstance(cell, float) else str(cell)


def format_row(table: Table, row: int) -> list[str]:
    """Format the cells of a row; columns in ``significant`` get two significant digits."""
    return _format_cells(table, table.rows[row])


def _format_cells(table: Table, cells: Sequence[Cell]) -> list[str]:
    return [
        f"{cell:z.2}"
        if column in table.significant and isinstance(cell, float)
        else format_cell(cell, table.decimals)
        for column, cell in enumerate(cells)
    ]


def format_rows(table: Table) -> Iterator[list[str]]:
    """Yield the header and all rows, formatted as by :func:`format_row`."""
    yield list(table.columns)
    for cells in table.rows:
        yield _format_cells(table, cells)


def is_numeric(table: Table, column: int) -> bool:
    """Whether a column has numbers and otherwise only empty cells."""
    cells = [row[column] for row in table.rows if row[column] is not None]
    return bool(cells) and all(isinstance(cell, int | float) for cell in cells)


def printable(text: str) -> str:
    """Replace control characters, except line ends and tabs, by U+FFFD."""
    return _CONTROL.sub("\ufffd", text)


def one_line(cell: str) -> str:
    """Replace tabs and line ends in a cell by spaces, because they would break the table."""
    return " ".join(cell.split()) if "\n" in cell or "\t" in cell or "\r" in cell else cell


def spaced(blocks: Iterable[str]) -> Iterator[str]:
    """Yield the blocks with an empty line between them."""
    for number, block in enumerate(blocks):
        yield printable(f"\n\n{block}" if number else block)
    yield "\n"
