"""A report as LaTeX: fragments to ``\\input``, which need no package."""

from __future__ import annotations

from exam_pp.reports.document import Block, Heading, Image, Link, Paragraph, Quote, Report, Table
from exam_pp.reports.render import show

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&",
    "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "κ": r"$\kappa$", "τ": r"$\tau$", "ρ": r"$\rho$",
    "α": r"$\alpha$", "±": r"$\pm$", "≥": r"$\geq$", "≤": r"$\leq$",
    "≈": r"$\approx$", "–": "--", "−": "$-$", "×": r"$\times$", "|": r"\textbar{}",
}  # fmt: skip
_ESCAPES = str.maketrans(_SPECIAL)


def escape(text: str) -> str:
    """Text as LaTeX sets it: special characters and the Greek of statistics."""
    return text.translate(_ESCAPES)


def latex(report: Report) -> str:
    """Tables as ``table`` environments with captions, paragraphs as text."""
    return "\n\n".join([f"% {report.title}", *map(_block, report.blocks)]) + "\n"


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
            return f"\\{'sub' * (level - 1)}section*{{{escape(words)}}}"
        case Link(words, target):
            return f"{escape(words)}: \\texttt{{{escape(target)}}}"
        case Image(_, caption):
            return f"% figure: {caption}"


def _table(table: Table) -> str:
    numeric = [all(not isinstance(row[i], str) for row in table.rows) for i in range(len(table.columns))]
    lines = [_row([escape(column) for column in table.columns]), r"\hline"]
    for number, row in enumerate(table.rows):
        cells = []
        for column, cell in enumerate(row):
            text = escape(show(cell, table.decimals))
            if (number, column) in table.bold:
                text = f"\\textbf{{{text}}}"
            if (number, column) in table.boxed:
                text = f"\\fbox{{{text}}}"
            cells.append(text)
        lines.append(_row(cells))
    caption = [f"\\caption{{{escape(table.title)}}}"] if table.title else []
    columns = "".join("r" if right else "l" for right in numeric)
    return "\n".join(
        [r"\begin{table}[ht]", r"\centering", *caption, f"\\begin{{tabular}}{{{columns}}}", *lines,
         r"\end{tabular}", r"\end{table}"]
    )  # fmt: skip


def _row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"
