"""Rendering of reports as plain text, and of tables on a terminal, fitted to its width."""

from __future__ import annotations

from itertools import chain
from textwrap import fill, indent

from exam_pp.rendering.cells import WIDTH, format_rows, is_numeric, one_line, spaced, text_blocks
from exam_pp.rendering.document import Heading, Link, Paragraph, Quote, Report, Table, TextBlock
from exam_pp.rendering.wrapping import GAP, NARROWEST, cell_width, wrapped_rows


def text(report: Report, width: int | None = None) -> str:
    """Render the report as plain text.

    With ``width``, that of a terminal in columns, paragraphs and wide tables are fitted to it.
    """
    title = [one_line(report.title)] if report.title else []
    return spaced([*title, *(_text_block(block, width) for block in text_blocks(report))])


def _filled(text: str, width: int) -> str:
    """Wrap a text at blanks only, so that file names and options stay whole."""
    return fill(text, width, break_on_hyphens=False, break_long_words=False)


def _text_block(block: TextBlock, width: int | None) -> str:
    paragraph_width = WIDTH if width is None else max(NARROWEST, min(WIDTH, width))
    match block:
        case Table():
            return _text_table(block, width)
        case Paragraph(text):
            return _filled(text, paragraph_width)
        case Quote(text, label):
            return (f"{label}\n" if label else "") + indent(_filled(text, paragraph_width - 4), "    ")
        case Heading(text, level):
            return f"{text}\n{('=' if level == 1 else '-') * min(cell_width(text), paragraph_width)}"
        case Link(text, target):
            return f"{text}: {target}"


def _text_table(table: Table, width: int | None) -> str:
    header, *cells = format_rows(table)
    cells = [
        [f"[{text}]" if (i, j) in table.boxed else text for j, text in enumerate(map(one_line, row))]
        for i, row in enumerate(cells)
    ]
    rows = [header, *cells]
    numeric = [is_numeric(table, i) for i in range(len(table.columns))]
    header_lines = 1
    if width is not None:
        parts = wrapped_rows(rows, numeric, width)
        rows, header_lines = list(chain.from_iterable(parts)), len(parts[0])
    cell_widths = [[cell_width(cell) for cell in row] for row in rows]
    widths = [max(column) for column in zip(*cell_widths, strict=True)]
    lines = []
    for row, sizes in zip(rows, cell_widths, strict=True):
        blanks = [" " * (width - size) for width, size in zip(widths, sizes, strict=True)]
        aligned = zip(row, blanks, numeric, strict=True)
        lines.append(GAP.join(blank + cell if right else cell + blank for cell, blank, right in aligned))
    lines.insert(header_lines, GAP.join("-" * width for width in widths))
    return "\n".join([*([table.title] if table.title else []), *(line.rstrip() for line in lines)])
