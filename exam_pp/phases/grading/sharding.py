"""Sharing work out evenly: batches to the processes of a team, queries to the tasks of an array."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exam_pp.data_model import QueryView
from exam_pp.errors import SelectionError
from exam_pp.test_bank import TestBank

_CHARACTERS_AROUND = 600
"""What a prompt says besides the passage: instructions and the question, in characters."""


def assign_shards(weights: Sequence[float], shares: int) -> list[list[int]]:
    """Indices of the weights in ``shares`` lists of nearly equal weight, each in ascending order.

    The heaviest goes first to the lightest share (Graham, Bounds on Multiprocessing Timing Anomalies,
    1969: at most 4/3 of the best possible). A pure function of the arguments.
    """
    lists: list[list[int]] = [[] for _ in range(shares)]
    loads = [0.0] * shares
    for index in sorted(range(len(weights)), key=lambda i: (-weights[i], i)):
        lightest = min(range(shares), key=lambda s: (loads[s], len(lists[s])))
        lists[lightest].append(index)
        loads[lightest] += weights[index]
    return [sorted(indices) for indices in lists]


@dataclass(frozen=True)
class Shard:
    """The share ``index`` (from 1) of ``count``."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """``"3/8"`` as a shard; raises :class:`SelectionError`."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not 1 <= shard.index <= shard.count:
            raise SelectionError(f"A shard is i/n with i from 1 to n, such as 3/8, not {text!r}.")
        return shard

    def positions(self, queries: Iterable[QueryView], bank: TestBank) -> frozenset[int]:
        """Which queries (counted from 0) are in the shard, balanced by the estimated length of all prompts.

        Every shard of the same file and bank gets its own queries, and all together get all.
        """
        weights = [
            sum(len(passage.text) + _CHARACTERS_AROUND for passage in query.passages)
            * max(1, len(bank.entries(query.query_id)))
            for query in queries
        ]
        return frozenset(assign_shards(weights, self.count)[self.index - 1])
