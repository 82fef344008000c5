"""Reports as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from textwrap import fill, indent

from exam_pp.rendering.cells import WIDTH, is_numeric, one_line, shown_row, spaced
from exam_pp.rendering.document import Block, Heading, Image, Link, Paragraph, Quote, Report, Table


def text(report: Report) -> Iterator[str]:
    """For terminals and plain files."""
    title = [report.title] if report.title else []
    return spaced(chain(title, map(_text_block, report.blocks)))


def _text_block(block: Block) -> str:
    match block:
        case Table():
            return _text_table(block)
        case Paragraph(words):
            return fill(words, WIDTH)
        case Quote(words, label):
            return (f"{label}\n" if label else "") + indent(fill(words, WIDTH - 4), "    ")
        case Heading(words, level):
            return f"{words}\n{('=' if level == 1 else '-') * min(_width(words), WIDTH)}"
        case Link(words, target):
            return f"{words}: {target}"
        case Image(_, caption):
            return f"[figure: {caption}]"


def _text_table(table: Table) -> str:
    cells = [
        [
            f"[{text}]" if (i, j) in table.boxed else text
            for j, text in enumerate(map(one_line, shown_row(table, i)))
        ]
        for i in range(len(table.rows))
    ]
    rows = [list(table.columns), *cells]
    taken = [[_width(cell) for cell in row] for row in rows]
    widths = [max(column) for column in zip(*taken, strict=True)]
    numeric = [is_numeric(table, i) for i in range(len(table.columns))]
    lines = []
    for row, own in zip(rows, taken, strict=True):
        blanks = [" " * (width - size) for width, size in zip(widths, own, strict=True)]
        aligned = zip(row, blanks, numeric, strict=True)
        lines.append("  ".join(blank + cell if right else cell + blank for cell, blank, right in aligned))
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*([table.title] if table.title else []), *(line.rstrip() for line in lines)])


def _width(cell: str) -> int:
    """The columns that a terminal needs: two for a Chinese character, none for an accent of its own."""
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len  # noqa: PLC0415 - for few tables

    return cell_len(cell)
