"""Cells, rows and lines as every renderer shows them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from exam_pp.rendering.document import Cell, Table

WIDTH = 100
"""Columns to which paragraphs of text and Markdown are wrapped."""

# A passage must not clear the reader's terminal, or write over what stands there.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def show(cell: Cell, decimals: int) -> str:
    """A cell for people and TSV: floats with fixed decimals, None as nothing."""
    if cell is None:
        return ""
    return f"{cell:z.{decimals}f}" if isinstance(cell, float) else str(cell)


def shown_row(table: Table, row: int) -> list[str]:
    """The cells of a row as :func:`show` shows them, some columns with two significant digits."""
    return _shown_cells(table, table.rows[row])


def _shown_cells(table: Table, cells: Sequence[Cell]) -> list[str]:
    return [
        f"{cell:z.2}"
        if column in table.significant and isinstance(cell, float)
        else show(cell, table.decimals)
        for column, cell in enumerate(cells)
    ]


def shown_rows(table: Table) -> Iterator[list[str]]:
    """The header and all rows as :func:`shown_row` shows them, one at a time."""
    yield list(table.columns)
    for cells in table.rows:
        yield _shown_cells(table, cells)


def is_numeric(table: Table, column: int) -> bool:
    """Whether all cells of a column that are not empty are numbers."""
    cells = [row[column] for row in table.rows if row[column] is not None]
    return bool(cells) and all(isinstance(cell, int | float) for cell in cells)


def harmless(words: str) -> str:
    """Words that a terminal only shows; line ends and tabs stay."""
    return _CONTROL.sub("\ufffd", words)


def one_line(cell: str) -> str:
    """A cell without tabs and line ends, which would shift every column and row after it."""
    return " ".join(cell.split()) if "\n" in cell or "\t" in cell or "\r" in cell else cell


def spaced(blocks: Iterable[str]) -> Iterator[str]:
    """The blocks with an empty line between them."""
    for number, block in enumerate(blocks):
        yield harmless(f"\n\n{block}" if number else block)
    yield "\n"
