"""Numbers for the passages of queries, found for whole arrays of ids at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Ids = NDArray[np.bytes_]
_WORD = 8
_NONE = -1
_SMALLEST = 1024
_ODD = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio: Knuth, The Art of Computer Programming 3, section 6.4."""


def as_ids(names: list[str]) -> Ids:
    """Ids as arrays of bytes (UTF-8, whose order is that of the characters)."""
    return np.array([name.encode("utf-8", "surrogatepass") for name in names], dtype=np.bytes_)


class PassageNumbers:
    """Counts the passages of queries, which are numbers themselves, from 0.

    A hash table with open addressing (linear probing), so that thousands of ids are looked up in one go:
    every line looks into its place, and the few whose place holds another passage try the next one.
    """

    def __init__(self) -> None:
        self._count = 0
        self._queries: Ints = np.zeros(0, np.int64)
        self._ids: Ids = np.zeros(0, f"S{_WORD}")
        self._table: NDArray[np.int32] = np.full(_SMALLEST, _NONE, np.int32)

    def __len__(self) -> int:
        return self._count

    @property
    def ids(self) -> Ids:
        """The ids, by number."""
        return self._ids[: self._count]

    def may_repeat(self, queries: Ints, ids: Ids) -> bool:
        """Whether a passage occurs twice for a query; hardly ever True where none does."""
        hashes = np.sort(self._hashed(queries, _in_words(ids)))
        return bool((hashes[1:] == hashes[:-1]).any())

    def add_distinct(self, queries: Ints, ids: Ids) -> Ints:
        """The numbers of passages that are known to be all different; new ones get the next numbers."""
        self._make_room(len(ids))
        return self._look_up(queries, ids, add=True)

    def add(self, queries: Ints, ids: Ids) -> Ints | None:
        """As :meth:`add_distinct`; None, and nothing is added, where a passage occurs twice."""
        before = self._count
        numbers = self.add_distinct(queries, ids)
        if len(numbers) and np.bincount(numbers).max() > 1:
            self._table[self._table >= before] = _NONE
            self._count = before
            return None
        return numbers

    def find(self, queries: Ints, ids: Ids) -> Ints:
        """The numbers of passages, −1 for those without one."""
        return self._look_up(queries, ids, add=False)

    def _look_up(self, queries: Ints, ids: Ids, *, add: bool) -> Ints:
        ids = _in_words(ids)
        width = max(ids.dtype, self._ids.dtype, key=lambda dtype: dtype.itemsize)
        ids, self._ids = ids.astype(width, copy=False), self._ids.astype(width, copy=False)
        places = self._places(queries, ids)
        numbers = self._table.take(places).astype(np.int64)
        rest = np.flatnonzero(~self._are(numbers, queries, ids))
        while len(rest):
            if add:
                free = rest[self._table[places[rest]] == _NONE]
                self._table[places[free]] = free  # of several lines that want a place, one gets it
                first = free[self._table[places[free]] == free]
                self._table[places[first]] = self._append(queries[first], ids[first])
            numbers[rest] = self._table[places[rest]]
            others = ~self._are(numbers[rest], queries[rest], ids[rest])
            rest = rest[others & (numbers[rest] != _NONE)]
            places[rest] = (places[rest] + 1) % len(self._table)
        return numbers

    def _are(self, numbers: Ints, queries: Ints, ids: Ids) -> NDArray[np.bool_]:
        """Whether these are the passages with these numbers; words are compared faster than ids."""
        if not self._count:
            return np.zeros(len(numbers), np.bool_)
        same: NDArray[np.bool_] = (numbers != _NONE) & (self._queries.take(numbers) == queries)
        for there, here in zip(_words(self._ids.take(numbers)).T, _words(ids).T, strict=True):
            same &= there == here
        return same

    def _append(self, queries: Ints, ids: Ids) -> Ints:
        """The numbers of new passages."""
        numbers = np.arange(self._count, self._count + len(ids))
        self._queries[numbers] = queries
        self._ids[numbers] = ids
        self._count += len(ids)
        return numbers

    def _make_room(self, new: int) -> None:
        """For so many more passages; a table that is nearly empty has few places that several want."""
        size = len(self._table)
        while size < 4 * (self._count + new):
            size *= 2
        if size == len(self._table) and len(self._ids) >= self._count + new:
            return
        self._queries, self._ids = np.resize(self._queries, size // 4), np.resize(self._ids, size // 4)
        self._table = np.full(size, _NONE, np.int32)
        places = self._places(self._queries[: self._count], self.ids)
        rest = np.arange(self._count)
        while len(rest):
            free = rest[self._table[places[rest]] == _NONE]
            self._table[places[free]] = free
            rest = rest[self._table[places[rest]] != rest]
            places[rest] = (places[rest] + 1) % size

    def _places(self, queries: Ints, ids: Ids) -> Ints:
        """The place of each passage in the table: the highest bits of its hash, on which all others act."""
        bits = len(self._table).bit_length() - 1
        return (self._hashed(queries, ids) >> np.uint64(64 - bits)).astype(np.int64)

    def _hashed(self, queries: Ints, ids: Ids) -> NDArray[np.uint64]:
        """A polynomial of the query and the 8-byte words of the id; zeros behind it do not count."""
        words = _words(ids)
        weights = np.array([pow(_ODD, power, 2**64) for power in range(1, 2 + words.shape[1])], np.uint64)
        hashes: NDArray[np.uint64] = words @ weights[1:]
        hashes += queries.astype(np.uint64) * weights[0]
        return hashes


def _words(ids: Ids) -> NDArray[np.uint64]:
    return ids.view(np.uint64).reshape(len(ids), ids.dtype.itemsize // _WORD)


def _in_words(ids: Ids) -> Ids:
    """The same ids, as wide as whole words."""
    return ids.astype(f"S{-(-ids.dtype.itemsize // _WORD) * _WORD}", copy=False)
