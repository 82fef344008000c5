"""How much two leaderboards agree: Spearman, Kendall τ-b, τ-AP, top-k overlap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.stats import kendalltau, rankdata, spearmanr


class Correlation(NamedTuple):
    """Agreement of scores with official ranks, over ``systems`` systems; None where undefined."""

    systems: int
    spearman: float | None
    kendall: float | None
    tau_ap: float | None
    top_overlap: float | None


def correlate(scores: Mapping[str, float], ranks: Mapping[str, float], top: int = 5) -> Correlation:
    """Agreement of scores (higher is better) with ranks (1 is best), over the systems of both.

    Ties get their average rank. All figures are 1 for equal orders; the first three are -1 for
    opposite ones, and None where one side ties all systems.
    """
    common = [system for system in scores if system in ranks]
    ours = [scores[system] for system in common]
    official = [-ranks[system] for system in common]
    overlap = top_overlap(ours, official, top)
    if len(set(ours)) < 2 or len(set(official)) < 2:
        return Correlation(len(common), None, None, None, overlap)
    return Correlation(
        len(common),
        float(spearmanr(ours, official).statistic),
        float(kendalltau(ours, official, variant="b").statistic),
        tau_ap(ours, official),
        overlap,
    )


def tau_ap(estimated: list[float], truth: list[float]) -> float | None:
    """AP correlation of two lists of scores of the same systems, higher is better; not symmetric.

    For every system below the top of the *estimated* order: how many of those above it are above it
    in truth as well, so that mistakes near the top weigh more (Yilmaz, Aslam and Robertson, SIGIR
    2008). Ties, as in τ-b, count neither for nor against: a tie in the estimate is not compared, a
    tie in truth counts 0 (Urbano and Marrero, ICTIR 2017). None where the estimate ties everything.
    """
    x, y = np.asarray(estimated), np.asarray(truth)
    above = x[:, None] < x[None, :]
    count = above.sum(axis=1)
    below_top = count > 0
    if not below_top.any():
        return None
    agreement = (above * np.sign(y[None, :] - y[:, None])).sum(axis=1)
    return float((agreement[below_top] / count[below_top]).mean())


def top_overlap(ours: list[float], official: list[float], k: int) -> float | None:
    """Share of the k best systems that both sides have in common; None for k systems or fewer.

    All systems tied at the boundary belong to the k best; the larger side is the denominator.
    """
    if len(ours) <= k:
        return None
    first, second = _best(ours, k), _best(official, k)
    return len(first & second) / max(len(first), len(second))


def _best(scores: list[float], k: int) -> set[int]:
    return set(np.flatnonzero(rankdata([-score for score in scores], method="min") <= k).tolist())


def ranks_of(scores: Mapping[str, float]) -> dict[str, float]:
    """System to rank by descending score, best first; ties share their average rank."""
    ranks = rankdata([-score for score in scores.values()], method="average")
    by_system = zip(scores, ranks.tolist(), strict=True)
    return dict(sorted(by_system, key=lambda item: (item[1], item[0])))
