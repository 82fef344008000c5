"""Drawing of tables on a terminal, fitted to its width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from exam_pp.rendering.cells import format_rows, is_numeric, printable
from exam_pp.rendering.rows import table, unique

MAX_ROWS = 200
"""Maximum number of rows that are drawn."""


def draw_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, max_rows: int = MAX_ROWS) -> bool:
    """Draw a table on standard output; returns True if rows beyond ``max_rows`` were left out."""
    from rich.console import Console  # noqa: PLC0415 - only for terminals
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    iterator = iter(rows)
    shown = table(unique(columns), islice(iterator, max_rows))
    more = next(iterator, None) is not None
    drawing = Table()
    header, *rows = format_rows(shown)
    for number, name in enumerate(header):
        numeric = is_numeric(shown, number)
        drawing.add_column(Text(printable(name)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        # As Text, because rich reads brackets in a plain string as markup.
        drawing.add_row(*(Text(printable(text)) for text in row))
    Console().print(drawing)
    return more
