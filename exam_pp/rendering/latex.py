r"""LaTeX renderer of reports: fragments for ``\input`` that need no package."""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import wrap

from exam_pp.rendering.cells import harmless, one_line, shown_row
from exam_pp.rendering.document import Block, Cell, Heading, Image, Link, Paragraph, Quote, Report, Table

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
_WIDEST = 24
_WRAPPED = "p{9em}"
_HEADING = 14
_BREAK = r"\\"


def escape(text: str) -> str:
    """Text as LaTeX sets it: special characters and the Greek of statistics."""
    return harmless(text).translate(_ESCAPES)


def latex(report: Report) -> str:
    """Tables as ``table`` environments with captions, paragraphs as text."""
    return "\n\n".join([_comment(report.title), *map(_block, report.blocks)]) + "\n"


def _comment(words: str) -> str:
    """Words that end with their line: behind it LaTeX would run them."""
    return f"% {' '.join(harmless(words).split())}"


def _block(block: Block) -> str:
    match block:
        case Table():
            return _table(block)
        case Paragraph(words):
            return escape(words)
        case Quote(words, label):
            lead = f"\\textbf{{{escape(label)}}}\n" if label else ""
            return f"{lead}\\begin{{quote}}\n{escape(words)}\n\\end{{quote}}"
        case Heading(words, level):
            return f"\\{'sub' * (min(level, 3) - 1)}section*{{{escape(one_line(words))}}}"
        case Link(words, target):
            return f"{escape(words)}: \\texttt{{{escape(target)}}}"
        case Image(_, caption):
            return _comment(f"figure: {caption}")


def _table(table: Table) -> str:
    columns = [[row[i] for row in table.rows] for i in range(len(table.columns))]
    lines = [_row([_heading(name) for name in table.columns]), r"\hline"]
    for number in range(len(table.rows)):
        cells = []
        for column, shown in enumerate(shown_row(table, number)):
            text = _breakable(escape(one_line(shown)))
            if (number, column) in table.bold:
                text = f"\\textbf{{{text}}}"
            if (number, column) in table.boxed:
                text = f"\\fbox{{{text}}}"
            cells.append(text)
        lines.append(_row(cells))
    caption = [f"\\caption{{{escape(one_line(table.title))}}}"] if table.title else []
    kinds = [_kind(column) for column in columns]
    size = [r"\footnotesize", r"\setlength{\tabcolsep}{3pt}"] if _WRAPPED in kinds else []
    begin = f"\\begin{{tabular}}{{{''.join(kinds)}}}"
    return "\n".join(
        [
            r"\begin{table}[ht]",
            r"\centering",
            *size,
            *caption,
            begin,
            *lines,
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _kind(cells: Sequence[Cell]) -> str:
    """Numbers to the right, words to the left, and wrapped where they are long."""
    if all(not isinstance(cell, str) for cell in cells):
        return "r"
    widest = max(len(cell) for cell in cells if isinstance(cell, str))
    return "l" if widest <= _WIDEST else _WRAPPED


def _heading(name: str) -> str:
    """Long names stand on several lines, so that columns of numbers stay narrow."""
    lines = [escape(line) for line in wrap(name, _HEADING, break_long_words=False)]
    return rf"\shortstack{{{_BREAK.join(lines)}}}" if len(lines) > 1 else "".join(lines)


def _breakable(text: str) -> str:
    """Long words, such as the names of prompts, may be broken before capitals and after underscores."""
    if len(text) <= _WIDEST:
        return text
    return _INNER_CAPITAL.sub(r"\\-", text).replace(r"\_", r"\_\allowbreak{}")


def _row(cells: list[str]) -> str:
    # Behind the \\ of the row before, a star or a bracket would be an option of it.
    guard = "{}" if cells and cells[0].startswith(("*", "[")) else ""
    return f"{guard}{' & '.join(cells)} {_BREAK}"
