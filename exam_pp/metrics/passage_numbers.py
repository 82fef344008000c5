"""Numbers for the passages of queries, found for whole arrays of ids at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Ids = NDArray[np.bytes_]
_WORD = 8


def as_ids(names: list[str]) -> Ids:
    """Ids as arrays of bytes (UTF-8, whose order is that of the characters)."""
    return np.array([name.encode("utf-8", "surrogatepass") for name in names], dtype=np.bytes_)


class PassageNumbers:
    """Counts the passages of queries, which are numbers themselves, from 0.

    A sorted array of hashes, so that thousands of ids are looked up in one go; what is found is compared
    with the ids, so equal hashes of different ids are noticed and all are hashed anew.
    """

    def __init__(self) -> None:
        self.queries: Ints = np.zeros(0, np.int64)
        self.ids: Ids = np.zeros(0, "S8")
        self._hashes = np.zeros(0, np.uint64)
        self._numbers: Ints = np.zeros(0, np.int64)
        self._salt = 0

    def __len__(self) -> int:
        return len(self.ids)

    def may_repeat(self, queries: Ints, ids: Ids) -> bool:
        """Whether a passage occurs twice for a query; hardly ever True where none does."""
        hashes = np.sort(self._hashed(queries, ids))
        return bool((hashes[1:] == hashes[:-1]).any())

    def add_distinct(self, queries: Ints, ids: Ids) -> Ints:
        """The numbers of passages that are known to be all different; new ones get the next numbers."""
        while (numbers := self.add(queries, ids)) is None:
            self._hash_anew()
        return numbers

    def add(self, queries: Ints, ids: Ids) -> Ints | None:
        """As :meth:`add_distinct`; None, and nothing is added, where passages :meth:`may_repeat`."""
        hashes = self._hashed(queries, ids)
        order = np.argsort(hashes)
        hashes = hashes[order]
        if (hashes[1:] == hashes[:-1]).any():
            return None
        found, places = self._looked_up(hashes)
        numbers = np.empty_like(found)
        numbers[order] = found
        new = np.flatnonzero(found < 0)
        if len(new):
            lines = order[new]
            numbers[lines] = np.arange(len(self), len(self) + len(new))
            self._hashes = np.insert(self._hashes, places[new], hashes[new])
            self._numbers = np.insert(self._numbers, places[new], numbers[lines])
            self.queries = np.concatenate([self.queries, queries[lines]])
            self.ids = np.concatenate([self.ids, _in_words(ids)[lines]])
        if not self._same(numbers, queries, ids):
            self._hash_anew()
            return self.add(queries, ids)
        return numbers

    def find(self, queries: Ints, ids: Ids) -> Ints:
        """The numbers of passages, −1 for those without one."""
        found, _ = self._looked_up(self._hashed(queries, ids))
        known = np.flatnonzero(found >= 0)
        numbers = found[known]
        same = (self.queries[numbers] == queries[known]) & (self.ids[numbers] == ids[known])
        found[known[~same]] = -1
        return found

    def _looked_up(self, hashes: NDArray[np.uint64]) -> tuple[Ints, Ints]:
        """The numbers with these hashes (or −1), and where in the sorted array the hashes belong."""
        places = np.searchsorted(self._hashes, hashes)
        if not len(self):
            return np.full(len(hashes), -1, np.int64), places
        inside = np.minimum(places, len(self) - 1)
        return np.where(self._hashes[inside] == hashes, self._numbers[inside], -1), places

    def _same(self, numbers: Ints, queries: Ints, ids: Ids) -> bool:
        """Whether the numbers are those of these passages; words are compared faster than ids."""
        there, here = (
            self.ids[numbers].view(np.uint64),
            ids.astype(self.ids.dtype, copy=False).view(np.uint64),
        )
        return np.array_equal(there, here) and np.array_equal(self.queries[numbers], queries)

    def _hash_anew(self) -> None:
        """With other weights, as equal hashes of different passages call for."""
        self._salt += 1
        hashes = self._hashed(self.queries, self.ids)
        self._numbers = np.argsort(hashes)
        self._hashes = hashes[self._numbers]

    def _hashed(self, queries: Ints, ids: Ids) -> NDArray[np.uint64]:
        """A sum of the 8-byte words of an id and its query with random odd weights; zeros do not count."""
        of_ids = _in_words(ids)
        words = of_ids.dtype.itemsize // _WORD
        weights = np.random.default_rng(self._salt).integers(2**64, size=1 + words, dtype=np.uint64) | 1
        hashes: NDArray[np.uint64] = of_ids.view(np.uint64).reshape(len(ids), words) @ weights[1:]
        hashes += queries.astype(np.uint64) * weights[0]
        return hashes


def _in_words(ids: Ids) -> Ids:
    """The same ids, as wide as whole words."""
    return ids.astype(f"S{-(-ids.dtype.itemsize // _WORD) * _WORD}", copy=False)
