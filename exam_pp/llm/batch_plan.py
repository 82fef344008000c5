"""Batching of requests by length under a token budget."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from exam_pp.llm.base import Batch

MAX_BATCH_SIZE = 256
"""Maximal number of rows: more rows slow decoding down without a higher throughput."""


def plan_batches(
    lengths: Sequence[int], batch_tokens: int, groups: Sequence[Hashable] | None = None
) -> list[Batch]:
    """Group indices so that rows × longest row is at most ``batch_tokens``, longest rows first.

    Only rows with equal ``groups`` share a batch. A row longer than the budget gets a separate batch.
    The plan depends only on the arguments, so a resumed run makes the same batches. The longest rows come
    first, so that a batch that does not fit into memory fails early.
    """
    batches: list[Batch] = []
    members: dict[Hashable, list[int]] = {}
    for index in range(len(lengths)):
        members.setdefault(groups[index] if groups else None, []).append(index)
    for of_group in members.values():
        current: Batch = []
        for index in sorted(of_group, key=lambda i: -lengths[i]):
            # Later rows are no longer than the first one.
            longest = lengths[current[0]] if current else 0
            if current and (longest * (len(current) + 1) > batch_tokens or len(current) >= MAX_BATCH_SIZE):
                batches.append(current)
                current = []
            current.append(index)
        if current:
            batches.append(current)
    return batches


def batches_in_order(count: int, size: int) -> list[Batch]:
    """Group the indices below ``count`` into batches of a fixed size."""
    return [list(range(start, min(start + size, count))) for start in range(0, count, size)]
