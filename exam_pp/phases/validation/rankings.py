"""Checks of ranks and scores in the rankings of systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from exam_pp.text.wording import counted


class RankedPassage(NamedTuple):
    """A passage in a ranking."""

    rank: int
    score: float
    passage_id: str


def check_ranks(systems: Mapping[str, Sequence[RankedPassage]]) -> Iterator[tuple[str, str]]:
    """Yield check and message for the rankings of a query, at most once per problem for all systems."""
    shared, rising = [], []
    for system, passages in systems.items():
        ordered = sorted(passages)
        ranks = {passage.rank for passage in passages}
        if len(ranks) < len({(passage.rank, passage.passage_id) for passage in passages}):
            shared.append(system)
        if any(b.score > a.score and b.rank > a.rank for a, b in pairwise(ordered)):
            rising.append(system)
    if shared:
        yield "shared-rank", f"two passages have the same rank ({_first_two(shared)})"
    if rising:
        yield "score-order", f"scores rise with the rank ({_first_two(rising)})"


def _first_two(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (f" and {counted(len(names) - 2, 'more system')}" if len(names) > 2 else "")
