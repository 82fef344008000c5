"""Rendering of reports as Markdown."""

from __future__ import annotations

from textwrap import fill, indent

from exam_pp.rendering.cells import WIDTH, format_rows, is_numeric, one_line, spaced, text_blocks
from exam_pp.rendering.document import Heading, Link, Paragraph, Quote, Report, Table, TextBlock


def markdown(report: Report) -> str:
    """Render the report as Markdown."""
    title = [f"# {_escaped(one_line(report.title))}"] if report.title else []
    return spaced([*title, *map(_markdown_block, text_blocks(report))])


def _markdown_block(block: TextBlock) -> str:
    match block:
        case Table():
            header, *rows = [[_markdown_cell(cell) for cell in row] for row in format_rows(block)]
            for i, j in block.bold:
                rows[i][j] = f"**{rows[i][j]}**"
            for i, j in block.boxed:
                rows[i][j] = f"[{rows[i][j]}]"
            rule = ["---:" if is_numeric(block, i) else "---" for i in range(len(header))]
            lines = [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]
            return "\n".join(([f"**{_escaped(block.title)}**", ""] if block.title else []) + lines)
        case Paragraph(text):
            return _escaped(text)
        case Quote(text, label):
            return (f"{_escaped(label)}\n\n" if label else "") + indent(
                fill(_escaped(text), WIDTH - 2), "> ", lambda _line: True
            )
        case Heading(text, level):
            return f"{'#' * (level + 1)} {_escaped(text)}"
        case Link(text, target):
            return f"[{_escaped(text)}](<{target}>)"


def _escaped(text: str) -> str:
    """Escape HTML elements, links and images in a text, which a viewer could load."""
    return text.replace("<", "&lt;").replace("](", "]\\(").replace("][", "]\\[").replace("]:", "]\\:")


def _markdown_cell(cell: str) -> str:
    return " ".join(_escaped(cell.replace("\\", "\\\\").replace("|", "\\|")).split())
