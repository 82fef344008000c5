"""Verification reports of every kind: title, summary, blocks for people, and one table for scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Generic, TypeVar

from exam_pp.packed import Remade
from exam_pp.phases.review.verification.base import Selection
from exam_pp.phases.review.verification.verify import Verified
from exam_pp.rendering.document import Block, Paragraph, Report, Table
from exam_pp.wording import counted

S = TypeVar("S", bound=Selection)


@dataclass(frozen=True)
class VerificationReport(Generic[S]):
    """How a selection is shown.

    ``summary`` has counts over all that was looked at, shown or not, in a sentence; ``blocks`` are what
    people read below it, made as they are asked for; ``table`` is one flat table, for scripts and
    spreadsheets.
    """

    title: str
    summary: Callable[[S], str]
    blocks: Callable[[S], Iterable[Block]]
    table: Callable[[S], Table]

    def report(self, found: Verified[S], *, flat: bool = False) -> Report:
        """The selection for people, or ``flat`` as the table alone."""
        title = f"{self.title}: {found.prompt_class} by {found.model}"
        selection = found.selection
        if flat:
            return Report(title, [self.table(selection)])
        return Report(
            title, Remade(lambda: chain([Paragraph(self.summary(selection))], self.blocks(selection)))
        )


def omission(count: int, what: str, shown: int) -> list[Block]:
    """A line that says how many are not shown, if any; ``what`` is one of them."""
    if not count:
        return []
    noun = f"more {what}" if shown else what
    return [Paragraph(f"{counted(count, noun)} {'is' if count == 1 else 'are'} not shown.")]


def without_empty_columns(table: Table) -> Table:
    """The table without the columns in which no row has anything."""
    kept = [i for i, _ in enumerate(table.columns) if any(row[i] not in (None, "") for row in table.rows)]
    if not table.rows:
        return table
    columns = [table.columns[i] for i in kept]
    return Table(columns, [[row[i] for i in kept] for row in table.rows], table.title, table.decimals)
