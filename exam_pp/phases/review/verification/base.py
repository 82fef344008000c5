"""Selections for verification reports, filled query by query; the smallest items of many."""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import itemgetter
from typing import Any, Generic, TypeVar

from exam_pp.phases.review.verification.checked import CheckedQuery

T = TypeVar("T")


class Selection(ABC):
    """What a verification report says, selected from the queries of a file one after the other.

    A query may come in several parts. What is kept is what will be said, so that memory stays flat.
    """

    needs_judgments = False
    """Whether there is nothing to say of a file without manual judgments."""

    @abstractmethod
    def add(self, query: CheckedQuery) -> None:
        """Look at a query."""


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
