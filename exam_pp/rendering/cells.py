"""Formatting of cells and rows that all renderers share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from exam_pp.rendering.document import (
    Cell,
    Heading,
    Link,
    Paragraph,
    Quote,
    Report,
    Table,
    TextBlock,
)
from exam_pp.text.spreadsheet_cells import for_spreadsheets
from exam_pp.text.wording import printable

WIDTH = 100
"""Line width of paragraphs in text and Markdown, in characters."""

_BREAK = re.compile(r"[\t\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


def format_cell(cell: Cell, decimals: int) -> str:
    """Format a cell for text and TSV: floats with fixed decimals, None as an empty string."""
    if cell is None:
        return ""
    return f"{cell:z.{decimals}f}" if isinstance(cell, float) else str(cell)


def format_rows(table: Table) -> Iterator[list[str]]:
    """Yield the header and all rows; columns in ``significant`` get two significant digits."""
    yield list(table.columns)
    for cells in table.rows:
        yield [
            f"{cell:z.2}"
            if column in table.significant and isinstance(cell, float)
            else format_cell(cell, table.decimals)
            for column, cell in enumerate(cells)
        ]


def is_numeric(table: Table, column: int) -> bool:
    """Whether a column has numbers and otherwise only empty cells."""
    cells = [row[column] for row in table.rows if row[column] is not None]
    return bool(cells) and all(isinstance(cell, int | float) for cell in cells)


def one_line(text: str) -> str:
    """Replace tabs and all kinds of line ends by spaces, because they would break a table or a heading."""
    return " ".join(text.split()) if _BREAK.search(text) else text


def tsv_row(row: Iterable[str]) -> str:
    """A line of TSV. Cells are not quoted: tabs and line ends in a cell become spaces."""
    return "\t".join(for_spreadsheets(one_line(cell)) for cell in row) + "\n"


def text_blocks(report: Report) -> Iterator[TextBlock]:
    """Yield the blocks for line-oriented formats; ids in them cannot start a line of their own.

    Only the text of a quote keeps its lines, which the formats indent. Cells are left to the formats.
    """
    for block in report.text_content:
        match block:
            case Table():
                columns = [one_line(name) for name in block.columns]
                yield replace(block, title=one_line(block.title), columns=columns)
            case Paragraph(text):
                yield Paragraph(one_line(text))
            case Quote():
                yield replace(block, label=one_line(block.label))
            case Heading():
                yield replace(block, text=one_line(block.text))
            case Link(text, target):
                yield Link(one_line(text), one_line(target))


def spaced(blocks: Iterable[str]) -> str:
    """The blocks with an empty line between them."""
    return printable("\n\n".join(blocks) + "\n")
