"""Renderers: a report as text, TSV, Markdown, JSON or HTML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from textwrap import fill, indent

from exam_pp.registry import Registry
from exam_pp.reports.document import Block, Cell, Heading, Image, Link, Paragraph, Quote, Report, Table

Renderer = Callable[[Report], str | Iterable[str]]
"""Makes a report a text, or the parts of one."""
RENDERERS: Registry[Renderer] = Registry("output format", "renderers")

_WIDTH = 100

# A passage must not clear the reader's terminal, or write over what stands there.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def render(report: Report, form: str) -> str:
    """The report in the named format, ending with a line end."""
    return "".join(rendered(report, form))


def rendered(report: Report, form: str) -> Iterable[str]:
    """As :func:`render`, in parts as they are made: for reports that are longer than the memory."""
    found = RENDERERS.get(form)(report)
    return [found] if isinstance(found, str) else found


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


def harmless(words: str) -> str:
    """Words that a terminal only shows; line ends and tabs stay."""
    return _CONTROL.sub("\ufffd", words)


def one_line(cell: str) -> str:
    """A cell without tabs and line ends, which would shift every column and row after it."""
    return " ".join(cell.split()) if "\n" in cell or "\t" in cell or "\r" in cell else cell


def text(report: Report) -> Iterator[str]:
    """For terminals and plain files."""
    title = [report.title] if report.title else []
    return _spaced(chain(title, map(_text_block, report.blocks)))


def _spaced(blocks: Iterable[str]) -> Iterator[str]:
    """The blocks with an empty line between them."""
    for number, block in enumerate(blocks):
        yield harmless(f"\n\n{block}" if number else block)
    yield "\n"


def _text_block(block: Block) -> str:
    match block:
        case Table():
            return _text_table(block)
        case Paragraph(words):
            return fill(words, _WIDTH)
        case Quote(words, label):
            return (f"{label}\n" if label else "") + indent(fill(words, _WIDTH - 4), "    ")
        case Heading(words, level):
            return f"{words}\n{('=' if level == 1 else '-') * min(_width(words), _WIDTH)}"
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


def is_numeric(table: Table, column: int) -> bool:
    """Whether all cells of a column that are not empty are numbers."""
    cells = [row[column] for row in table.rows if row[column] is not None]
    return bool(cells) and all(isinstance(cell, int | float) for cell in cells)


def _width(cell: str) -> int:
    """The columns that a terminal needs: two for a Chinese character, none for an accent of its own."""
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len  # noqa: PLC0415 - for few tables

    return cell_len(cell)


def tsv(report: Report) -> Iterator[str]:
    """The report's tables, tab separated, one header line each.

    Several tables have a blank line between them, and their titles as lines that start with ``#``.
    """
    tables = [block for block in report.blocks if isinstance(block, Table)]
    for number, table in enumerate(tables):
        if number:
            yield "\n"
        if len(tables) > 1 and table.title:
            yield f"# {table.title}\n"
        yield from map(_tsv_row, _shown(table))


def _shown(table: Table) -> Iterator[list[str]]:
    yield list(table.columns)
    for cells in table.rows:
        yield _shown_cells(table, cells)


def _tsv_row(row: list[str]) -> str:
    return "\t".join(map(one_line, row)) + "\n"


def markdown(report: Report) -> Iterator[str]:
    """For issues, wikis and papers in progress."""
    title = [f"# {_markdown_words(report.title)}"] if report.title else []
    return _spaced(chain(title, map(_markdown_block, report.blocks)))


def _markdown_block(block: Block) -> str:
    match block:
        case Table():
            header, *rows = [[_markdown_cell(cell) for cell in row] for row in _shown(block)]
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
                fill(_markdown_words(words), _WIDTH - 2), "> ", lambda _line: True
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


def json_document(report: Report) -> Iterator[str]:
    """The tables as JSON, floats unrounded: for scripts."""
    notes = [block.text for block in report.blocks if isinstance(block, Paragraph)]
    tables = (_json_table(block) for block in report.blocks if isinstance(block, Table))
    yield f'{{\n  "title": {_json(report.title)},\n  "notes": {_json(notes, depth=2)},\n  "tables": '
    yield from _json_list(tables, depth=2)
    yield "\n}\n"


def _json_table(table: Table) -> Iterator[str]:
    rows = ([_json(dict(zip(table.columns, row, strict=True)), depth=8)] for row in table.rows)
    yield f'{{\n      "title": {_json(table.title)},\n      "rows": '
    yield from _json_list(rows, depth=6)
    yield "\n    }"


def _json_list(items: Iterable[Iterable[str]], depth: int) -> Iterator[str]:
    """A list as ``json.dumps`` lays it out, item by item; ``depth`` is how far its line is indented."""
    empty = True
    for item in items:
        yield f"{'[' if empty else ','}\n{' ' * (depth + 2)}"
        yield from item
        empty = False
    yield "[]" if empty else f"\n{' ' * depth}]"


def _json(value: object, depth: int = 0) -> str:
    # No text holds a line end of its own in JSON.
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False).replace("\n", "\n" + " " * depth)


def _latex() -> Renderer:
    from exam_pp.reports.latex import latex  # noqa: PLC0415 - it builds on this module

    return latex


def _html() -> Renderer:
    from exam_pp.reports.html import page  # noqa: PLC0415 - it builds on this module

    return page


RENDERERS.add("text", text)
RENDERERS.add("tsv", tsv)
RENDERERS.add("md", markdown)
RENDERERS.add("json", json_document)
RENDERERS.add_lazy("latex", _latex)
RENDERERS.add_lazy("html", _html)
