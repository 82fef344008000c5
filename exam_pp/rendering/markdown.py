"""Reports as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from textwrap import fill, indent

from exam_pp.rendering.cells import WIDTH, is_numeric, shown_rows, spaced
from exam_pp.rendering.document import Block, Heading, Image, Link, Paragraph, Quote, Report, Table


def markdown(report: Report) -> Iterator[str]:
    """For issues, wikis and papers in progress."""
    title = [f"# {_markdown_words(report.title)}"] if report.title else []
    return spaced(chain(title, map(_markdown_block, report.blocks)))


def _markdown_block(block: Block) -> str:
    match block:
        case Table():
            header, *rows = [[_markdown_cell(cell) for cell in row] for row in shown_rows(block)]
            for i, j in block.bold:
                rows[i][j] = f"**{rows[i][j]}**"
            for i, j in block.boxed:
                rows[i][j] = f"[{rows[i][j]}]"
            rule = ["---:" if is_numeric(block, i) else "---" for i in range(len(header))]
            lines = [f"| {' | '.join(row)} |" for row in (header, rule, *rows)]
            return "\n".join(([f"**{_markdown_words(block.title)}**", ""] if block.title else []) + lines)
        case Paragraph(words):
            return _markdown_words(words)
        case Quote(words, label):
            return (f"{_markdown_words(label)}\n\n" if label else "") + indent(
                fill(_markdown_words(words), WIDTH - 2), "> ", lambda _line: True
            )
        case Heading(words, level):
            return f"{'#' * (level + 1)} {' '.join(_markdown_words(words).split())}"
        case Link(words, target):
            return f"[{_markdown_words(words)}](<{target}>)"
        case Image(_, caption):
            return f"*Figure: {_markdown_words(caption)}*"


def _markdown_words(words: str) -> str:
    """Words in which no element of HTML starts, and no link or image, which may be loaded unasked."""
    return words.replace("<", "&lt;").replace("](", "]\\(").replace("][", "]\\[").replace("]:", "]\\:")


def _markdown_cell(cell: str) -> str:
    return " ".join(_markdown_words(cell.replace("\\", "\\\\").replace("|", "\\|")).split())
