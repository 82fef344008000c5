r"""LaTeX renderer of reports: fragments for ``\input`` that need no package."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap

from exam_pp.rendering.cells import format_rows, one_line, text_blocks
from exam_pp.rendering.document import Cell, Heading, Link, Paragraph, Quote, Report, Table, TextBlock
from exam_pp.text.wording import printable

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&",
    "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "κ": r"$\kappa$", "τ": r"$\tau$", "ρ": r"$\rho$",
    "α": r"$\alpha$", "±": r"$\pm$", "≥": r"$\geq$", "≤": r"$\leq$",
    "≈": r"$\approx$", "–": "--", "−": "$-$", "×": r"$\times$", "|": r"\textbar{}",
    "\ufffd": "?",
}  # fmt: skip
_ESCAPES = str.maketrans(_SPECIAL)
_INNER_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[a-z\d]+")
_WIDEST = 24
_WRAPPED = "p{9em}"
_HEADING = 14
_BREAK = r"\\"


def escape(text: str) -> str:
    """Escape special characters, Greek letters and mathematical signs for LaTeX."""
    return printable(text).translate(_ESCAPES)


def latex(report: Report) -> str:
    """Render tables as ``table`` environments with captions and labels, and paragraphs as text.

    A table without a title has that of the report. Labels are made of titles, such as ``tab:rubric-cover``.
    """
    blocks = (_block(block, report.title) for block in text_blocks(report))
    return "\n\n".join([_comment(report.title), *blocks]) + "\n"


def _comment(text: str) -> str:
    """A comment of one line, because LaTeX would execute the text of a second line."""
    return f"% {' '.join(printable(text).split())}"


def _block(block: TextBlock, title: str) -> str:
    match block:
        case Table():
            return _table(block, block.title or title)
        case Paragraph(text):
            return escape(text)
        case Quote(text, label):
            lead = f"\\textbf{{{escape(label)}}}\n" if label else ""
            return f"{lead}\\begin{{quote}}\n{escape(text)}\n\\end{{quote}}"
        case Heading(text, level):
            return f"\\{'sub' * (min(level, 3) - 1)}section*{{{escape(text)}}}"
        case Link(text, target):
            return f"{escape(text)}: \\texttt{{{escape(target)}}}"


def _table(table: Table, title: str) -> str:
    columns = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    lines = [_row([_heading(name) for name in table.columns]), r"\hline"]
    _, *rows = format_rows(table)
    for number, row in enumerate(rows):
        cells = []
        for column, shown in enumerate(row):
            text = _breakable(escape(one_line(shown)))
            if (number, column) in table.bold:
                text = f"\\textbf{{{text}}}"
            if (number, column) in table.boxed:
                text = f"\\fbox{{{text}}}"
            cells.append(text)
        lines.append(_row(cells))
    types = [_column_type(column) for column in columns]
    size = [r"\footnotesize", r"\setlength{\tabcolsep}{3pt}"] if _WRAPPED in types else []
    begin = f"\\begin{{tabular}}{{{''.join(types)}}}"
    return "\n".join(
        [
            r"\begin{table}[ht]",
            r"\centering",
            *size,
            f"\\caption{{{escape(title)}}}",
            f"\\label{{tab:{'-'.join(_WORD.findall(title.lower()))}}}",
            begin,
            *lines,
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _column_type(cells: Sequence[Cell]) -> str:
    """Column type: numbers are aligned right, text left, long text is wrapped."""
    if all(not isinstance(cell, str) for cell in cells):
        return "r"
    widest = max(len(cell) for cell in cells if isinstance(cell, str))
    return "l" if widest <= _WIDEST else _WRAPPED


def _heading(name: str) -> str:
    """Break long column names into several lines, so that columns of numbers stay narrow."""
    lines = [escape(line) for line in wrap(name, _HEADING, break_long_words=False)]
    return rf"\shortstack{{{_BREAK.join(lines)}}}" if len(lines) > 1 else "".join(lines)


def _breakable(text: str) -> str:
    """Allow line breaks in long names, such as those of prompts, before capitals and after underscores."""
    if len(text) <= _WIDEST:
        return text
    return _INNER_CAPITAL.sub(r"\\-", text).replace(r"\_", r"\_\allowbreak{}")


def _row(cells: list[str]) -> str:
    # After the \\ of the previous row, LaTeX reads a star or a bracket as its option.
    guard = "{}" if cells and cells[0].startswith(("*", "[")) else ""
    return f"{guard}{' & '.join(cells)} {_BREAK}"
