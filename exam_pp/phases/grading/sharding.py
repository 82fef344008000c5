"""Shards of about equal work: batches for a process group, queries for the tasks of an array job."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exam_pp.banks import TestBank
from exam_pp.data_model import QueryView
from exam_pp.errors import SelectionError

_CHARACTERS_AROUND = 600
"""Estimated length of the instructions and the question in a prompt, in characters."""


def assign_shards(weights: Sequence[float], shards: int) -> list[list[int]]:
    """Split the indices of ``weights`` into ``shards`` ascending lists of about equal total weight.

    Each index goes to the lightest shard, heaviest index first (Graham, Bounds on Multiprocessing Timing
    Anomalies, 1969: at most 4/3 of the optimum). The result is deterministic.
    """
    lists: list[list[int]] = [[] for _ in range(shards)]
    loads = [0.0] * shards
    for index in sorted(range(len(weights)), key=lambda i: (-weights[i], i)):
        lightest = min(range(shards), key=lambda s: (loads[s], len(lists[s])))
        lists[lightest].append(index)
        loads[lightest] += weights[index]
    return [sorted(indices) for indices in lists]


@dataclass(frozen=True)
class Shard:
    """Shard ``index`` (from 1) of ``count``."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse a text such as ``"3/8"``; raises :class:`SelectionError`."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not 1 <= shard.index <= shard.count:
            raise SelectionError(f"--shard must be I/N with I from 1 to N, such as 3/8, not {text!r}.")
        return shard

    def positions(self, queries: Iterable[QueryView], bank: TestBank) -> frozenset[int]:
        """The positions (from 0) of the queries in the shard.

        Every query is in exactly one of the shards of the same file and bank. Shards are balanced by the
        estimated length of all prompts.
        """
        weights = [
            sum(len(passage.text) + _CHARACTERS_AROUND for passage in query.passages)
            * max(1, len(bank.entries(query.query_id)))
            for query in queries
        ]
        return frozenset(assign_shards(weights, self.count)[self.index - 1])
