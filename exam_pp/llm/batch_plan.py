"""Grouping requests into batches: by length, under a token budget."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from exam_pp.llm.base import Batch

MAX_BATCH_SIZE = 256
"""More rows than this make decoding steps slow without filling the machine any better."""


def plan_batches(
    lengths: Sequence[int], batch_tokens: int, groups: Sequence[Hashable] | None = None
) -> list[Batch]:
    """Indices grouped so that rows × longest row stays within ``batch_tokens``; longest first.

    Only rows of equal ``groups`` share a batch. A row longer than the budget is a batch of its own.
    The plan depends on nothing but the arguments, so that a run that continues after a kill makes the
    same batches. Longest first, because a batch that does not fit the memory should fail early.
    """
    batches: list[Batch] = []
    for members in _by_group(range(len(lengths)), groups):
        current: Batch = []
        for index in sorted(members, key=lambda i: -lengths[i]):
            longest = lengths[current[0]] if current else 0
            if current and (longest * (len(current) + 1) > batch_tokens or len(current) >= MAX_BATCH_SIZE):
                batches.append(current)
                current = []
            current.append(index)
        if current:
            batches.append(current)
    return batches


def batches_in_order(count: int, size: int) -> list[Batch]:
    """So many indices, in batches of a fixed size."""
    return [list(range(start, min(start + size, count))) for start in range(0, count, size)]


def _by_group(indices: Iterable[int], groups: Sequence[Hashable] | None) -> list[list[int]]:
    if groups is None:
        return [list(indices)]
    members: dict[Hashable, list[int]] = {}
    for index in indices:
        members.setdefault(groups[index], []).append(index)
    return list(members.values())
