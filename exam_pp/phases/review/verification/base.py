"""What the reports have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Generic, TypeVar

from exam_pp.phases.review.verification.checked import CheckedQuery
from exam_pp.rendering.document import Block, Paragraph, Table
from exam_pp.wording import counted

T = TypeVar("T")


class VerificationReport(ABC):
    """A report that is shown the queries of a file, one after the other.

    A query may come in several parts. What is kept is what will be said, so that memory stays flat.
    """

    title: str
    needs_judgments = False
    """Whether there is nothing to say of a file without manual judgments."""

    @abstractmethod
    def add(self, query: CheckedQuery) -> None:
        """Look at a query."""

    @abstractmethod
    def summary(self) -> str:
        """Counts over all that was looked at, shown or not; what the report lists, in a sentence."""

    @abstractmethod
    def blocks(self) -> Iterable[Block]:
        """What people read below the summary, made as it is asked for."""

    def pages(self) -> list[Block]:
        """The blocks at once."""
        return list(self.blocks())

    @abstractmethod
    def table(self) -> Table:
        """One flat table, for scripts and spreadsheets."""


class Smallest(Generic[T]):
    """The ``limit`` items with the smallest keys of all that were added (None: all of them)."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.added = 0
        self._items: list[tuple[Any, T]] = []

    def add(self, key: Any, item: T) -> None:
        """Take an item; keys are compared with each other only."""
        self.added += 1
        self._items.append((key, item))
        if self.limit is not None and len(self._items) > 2 + self.limit + self.limit // 2:
            self._prune()

    def items(self) -> list[T]:
        """The items, by key."""
        self._prune()
        return [item for _, item in self._items]

    @property
    def omitted(self) -> int:
        """How many were added and are not kept."""
        return self.added - (self.added if self.limit is None else min(self.limit, self.added))

    def _prune(self) -> None:
        self._items.sort(key=itemgetter(0))
        if self.limit is not None:
            del self._items[self.limit :]


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


def percent(part: int, whole: int) -> float | None:
    """A share of 100; None of nothing."""
    return 100 * part / whole if whole else None
