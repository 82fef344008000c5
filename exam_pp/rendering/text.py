"""Rendering of reports as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from textwrap import fill, indent

from exam_pp.rendering.cells import WIDTH, format_row, is_numeric, one_line, spaced
from exam_pp.rendering.document import Block, Heading, Image, Link, Paragraph, Quote, Report, Table


def text(report: Report) -> Iterator[str]:
    """Yield the parts of the report as plain text."""
    title = [report.title] if report.title else []
    return spaced(chain(title, map(_text_block, report.content)))


def _text_block(block: Block) -> str:
    match block:
        case Table():
            return _text_table(block)
        case Paragraph(text):
            return fill(text, WIDTH)
        case Quote(text, label):
            return (f"{label}\n" if label else "") + indent(fill(text, WIDTH - 4), "    ")
        case Heading(text, level):
            return f"{text}\n{('=' if level == 1 else '-') * min(_width(text), WIDTH)}"
        case Link(text, target):
            return f"{text}: {target}"
        case Image(_, caption):
            return f"[figure: {caption}]"


def _text_table(table: Table) -> str:
    cells = [
        [
            f"[{text}]" if (i, j) in table.boxed else text
            for j, text in enumerate(map(one_line, format_row(table, i)))
        ]
        for i in range(len(table.rows))
    ]
    rows = [list(table.columns), *cells]
    cell_widths = [[_width(cell) for cell in row] for row in rows]
    widths = [max(column) for column in zip(*cell_widths, strict=True)]
    numeric = [is_numeric(table, i) for i in range(len(table.columns))]
    lines = []
    for row, sizes in zip(rows, cell_widths, strict=True):
        blanks = [" " * (width - size) for width, size in zip(widths, sizes, strict=True)]
        aligned = zip(row, blanks, numeric, strict=True)
        lines.append("  ".join(blank + cell if right else cell + blank for cell, blank, right in aligned))
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*([table.title] if table.title else []), *(line.rstrip() for line in lines)])


def _width(cell: str) -> int:
    """Width in terminal columns: 2 for a Chinese character, 0 for a combining accent."""
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len  # noqa: PLC0415 - for few tables

    return cell_len(cell)
