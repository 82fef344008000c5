"""Checks of ranks and scores in the rankings of systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise
from typing import NamedTuple

from exam_pp.wording import counted

_MANY = 3
"""If a ranking has at least this number of passages, they should not all have the same score."""


class RankedPassage(NamedTuple):
    """A passage in a ranking."""

    rank: int
    score: float
    passage_id: str


def check_ranks(systems: Mapping[str, Sequence[RankedPassage]]) -> Iterator[tuple[str, str]]:
    """Yield check and message for the rankings of a query, at most once per problem for all systems."""
    shared, holes, rising, flat = [], [], [], []
    for system, passages in systems.items():
        ordered = sorted(passages)
        ranks = {passage.rank for passage in passages}
        if len(ranks) < len({(passage.rank, passage.passage_id) for passage in passages}):
            shared.append(system)
        first = min(1, *ranks)  # ranks start at 0 or 1
        if missing := max(ranks) - first + 1 - len(ranks):
            gap = next(rank for rank in count(first) if rank not in ranks)
            holes.append(f"{system}: {missing} of {max(ranks) - first + 1}, first {gap}")
        if any(b.score > a.score and b.rank > a.rank for a, b in pairwise(ordered)):
            rising.append(system)
        if len(passages) >= _MANY and len({passage.score for passage in passages}) == 1:
            flat.append(system)
    if shared:
        yield "shared-rank", f"two passages have the same rank ({_first_two(shared)})"
    if holes:
        yield "rank-holes", f"ranks are missing ({_first_two(holes)})"
    if rising:
        yield "score-order", f"scores rise with the rank ({_first_two(rising)})"
    if flat:
        yield "score-order", f"all passages have the same score ({_first_two(flat)})"


def _first_two(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (f" and {counted(len(names) - 2, 'more system')}" if len(names) > 2 else "")
