"""Rank fusion: one order from the ranks that several systems give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum

DEFAULT_K = 60


def reciprocal_rank_fusion(rankings: Iterable[Mapping[str, int]], k: int = DEFAULT_K) -> dict[str, float]:
    """Each ranked id with its score Σ 1 / (k + rank) over the rankings that hold it, in order of appearance.

    Ranks count from 1. Equal sets of ranks give equal scores, whatever the order of the rankings. Source:
    Cormack, Clarke and Büttcher, Reciprocal Rank Fusion, SIGIR 2009.
    """
    ranks: dict[str, list[int]] = {}
    for ranking in rankings:
        for item, rank in ranking.items():
            ranks.setdefault(item, []).append(rank)
    return {item: fsum(1 / (k + rank) for rank in found) for item, found in ranks.items()}
