"""Cells of CSV files that spreadsheets would run as formulas."""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|-inf", re.ASCII)


def is_formula(cell: str) -> bool:
    """Whether a spreadsheet may run the cell as a formula; also True if it is already escaped."""
    return _FORMULA.match(cell) is not None


def with_apostrophe(cell: str) -> str:
    """Put an apostrophe before a cell that a spreadsheet would run, which then shows it as text."""
    return f"'{cell}" if is_formula(cell) else cell


def unescaped(cell: str) -> str:
    """Undo :func:`with_apostrophe`."""
    return cell[1:] if cell.startswith("'") and is_formula(cell) else cell


def for_spreadsheets(cell: str) -> str:
    """The cell as it is written for people and spreadsheets: escaped, except numbers and signs as ``+/-``."""
    # Few cells begin as formulas do, so that is asked first.
    runs = is_formula(cell) and not is_decimal(cell) and any(map(str.isalnum, cell))
    return f"'{cell}" if runs else cell


def is_decimal(cell: str) -> bool:
    """Whether the cell is a decimal number, such as ``-0.5`` or ``1e-7``; also True for ``-inf``."""
    return _NUMBER.fullmatch(cell) is not None
