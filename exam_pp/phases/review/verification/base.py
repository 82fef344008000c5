"""Base class of selections for verification reports, and a bounded list of the smallest items."""

from __future__ import annotations

from abc import ABC, abstractmethod
from operator import itemgetter
from typing import Any, Generic, TypeVar

from exam_pp.phases.review.verification.checked import CheckedQuery

T = TypeVar("T")


class Selection(ABC):
    """The content of a verification report, collected query by query.

    A query may be added in several parts. Selections keep only the items that their report shows, so that
    memory use does not grow with the file.
    """

    needs_judgments = False
    """Whether the report needs manual judgments."""

    @abstractmethod
    def add(self, query: CheckedQuery) -> None:
        """Add a query."""


class Smallest(Generic[T]):
    """The ``limit`` added items with the smallest keys (None: all items)."""

    def __init__(self, limit: int | None = None) -> None:
        self.limit = limit
        self.added = 0
        self._items: list[tuple[Any, T]] = []

    def add(self, key: Any, item: T) -> None:
        """Add an item; keys only need to be comparable with each other."""
        self.added += 1
        self._items.append((key, item))
        if self.limit is not None and len(self._items) > 2 + self.limit + self.limit // 2:
            self._prune()

    def items(self) -> list[T]:
        """The kept items, sorted by key."""
        self._prune()
        return [item for _, item in self._items]

    @property
    def omitted(self) -> int:
        """The number of items that were added but not kept."""
        return self.added - (self.added if self.limit is None else min(self.limit, self.added))

    def _prune(self) -> None:
        self._items.sort(key=itemgetter(0))
        if self.limit is not None:
            del self._items[self.limit :]
