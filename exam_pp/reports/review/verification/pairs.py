"""Table of the passages of a bank entry, with a note on unusual ratings and replies."""

from __future__ import annotations

from collections.abc import Sequence

from exam_pp.phases.review.verification.checked import UNGRADED, GradedPair, shortened
from exam_pp.rendering.document import Cell, Table
from exam_pp.reports.review.verification.base import without_empty_columns

CELL = 56
"""Characters of a text in a table for the terminal."""


def pair_table(pairs: Sequence[GradedPair], *, width: int = CELL, title: str = "") -> Table:
    """The table of an entry's passages; ``width`` is the number of characters shown of each passage."""
    rows: list[tuple[Cell, ...]] = [
        (
            pair.rating,
            pair.answer and shortened(pair.answer, CELL),
            pair.judgment,
            pair.passage_id,
            note(pair),
            shortened(pair.text, width),
        )
        for pair in pairs
    ]
    columns = ("rating", "answer", "judgment", "passage", "note", "text")
    return without_empty_columns(Table(columns, rows, title))


def note(pair: GradedPair) -> str:
    """The note on a pair: the reason for a missing rating, a default rule, an unusual reply; else empty."""
    reply = f'"{shortened(pair.reply, CELL)}"' if pair.reply is not None else ""
    if pair.rating is None:
        mark = f"{UNGRADED}: {pair.reason}" if pair.asked else pair.reason
    else:
        mark = pair.source if pair.source not in (None, "number") else ""
    return " ".join(part for part in (mark, f"reply {reply}" if reply else "") if part)
