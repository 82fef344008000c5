"""Validate: rankings of systems, in graded files and in run files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count, pairwise
from typing import NamedTuple

from exam_pp.wording import counted

_MANY = 3
"""So many passages with one score are no chance."""


class Place(NamedTuple):
    """Where a system has a passage."""

    rank: int
    score: float
    passage_id: str


def check_ranks(systems: Mapping[str, Sequence[Place]]) -> Iterator[tuple[str, str]]:
    """Checks and words about the rankings of one query: one finding a check, for all systems."""
    shared, holes, rising, flat = [], [], [], []
    for system, places in systems.items():
        ordered = sorted(places)
        ranks = {place.rank for place in places}
        if len(ranks) < len({(place.rank, place.passage_id) for place in places}):
            shared.append(system)
        first = min(1, *ranks)  # ranks start at 0 or 1
        if missing := max(ranks) - first + 1 - len(ranks):
            gap = next(rank for rank in count(first) if rank not in ranks)
            holes.append(f"{system}: {missing} of {max(ranks) - first + 1} from rank {gap} on")
        if any(b.score > a.score and b.rank > a.rank for a, b in pairwise(ordered)):
            rising.append(system)
        if len(places) >= _MANY and len({place.score for place in places}) == 1:
            flat.append(system)
    if shared:
        yield "shared-rank", f"{_some(shared)} with two passages at one rank"
    if holes:
        yield "rank-holes", f"ranks are missing ({_some(holes)})"
    if rising:
        yield "score-order", f"{_some(rising)} with scores that rise with the rank"
    if flat:
        yield "score-order", f"{_some(flat)} with one score for all passages"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (f" and {counted(len(names) - 2, 'more system')}" if len(names) > 2 else "")
