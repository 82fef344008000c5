"""Reciprocal rank fusion of several rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum

DEFAULT_K = 60


def reciprocal_rank_fusion(rankings: Iterable[Mapping[str, int]], k: int = DEFAULT_K) -> dict[str, float]:
    """Id to score Σ 1 / (k + rank) over the rankings that contain it, in order of appearance.

    Ranks start at 1. Scores do not depend on the order of the rankings.

    Source: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", SIGIR 2009.
    """
    ranks: dict[str, list[int]] = {}
    for ranking in rankings:
        for item, rank in ranking.items():
            ranks.setdefault(item, []).append(rank)
    return {item: fsum(1 / (k + rank) for rank in of_item) for item, of_item in ranks.items()}
