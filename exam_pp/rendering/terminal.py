"""Drawing of tables on a terminal, fitted to its width."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, Literal

from exam_pp.rendering.cells import format_rows, is_numeric
from exam_pp.rendering.rows import table, unique
from exam_pp.rendering.wrapping import column_widths
from exam_pp.wording import printable

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
    cells = [[printable(cell) for cell in row] for row in format_rows(shown)]
    numeric = [is_numeric(shown, number) for number in range(len(cells[0]))]
    console, drawing = Console(), Table()
    widths = column_widths(cells, numeric, console.width - 3 * len(numeric) - 1)  # 3: line and two blanks
    for name, is_number, width in zip(cells[0], numeric, widths, strict=True):
        # rich alone would break numbers anywhere. As Text, because it reads brackets in a string as markup.
        side: Literal["left", "right"] = "right" if is_number else "left"
        drawing.add_column(Text(name), justify=side, overflow="fold", min_width=width, max_width=width)
    for row in cells[1:]:
        drawing.add_row(*map(Text, row))
    console.print(drawing, crop=False)
    return more
