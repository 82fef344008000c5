"""Rows on a terminal, as wide as it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from exam_pp.rendering.cells import harmless, is_numeric, shown_rows
from exam_pp.rendering.rows import table, unique

MOST_ROWS = 200
"""Rows that are drawn; a table that is longer is for files."""


def draw_rows(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, most: int = MOST_ROWS) -> bool:
    """Draw a table on standard output; returns whether there were more rows than were drawn."""
    from rich.console import Console  # noqa: PLC0415 - only for terminals
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    iterator = iter(rows)
    shown = table(unique(columns), islice(iterator, most))
    more = next(iterator, None) is not None
    drawing = Table()
    header, *rows = shown_rows(shown)
    for number, name in enumerate(header):
        numeric = is_numeric(shown, number)
        drawing.add_column(Text(harmless(name)), justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        # Text, so that brackets in passages are not taken for markup.
        drawing.add_row(*(Text(harmless(words)) for words in row))
    Console().print(drawing)
    return more
