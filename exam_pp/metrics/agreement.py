"""How much two graders, or a grader and people, agree on single items: weighted κ, area under the curve."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata


def weighted_kappa(first: Sequence[int], second: Sequence[int], *, power: int = 2) -> float | None:
    """Cohen's κ of two lists of grades of the same items, with disagreements weighted by |i − j|^power.

    ``power`` 2 gives quadratic, 1 linear weights. 1 is perfect agreement, 0 what chance gives with the
    same marginals. None where chance cannot disagree: no items, or one grade throughout on both sides.
    With quadratic weights a grader that always gives the same grade has κ 0.

    Source: Cohen, "Weighted kappa", Psychological Bulletin 70 (1968).
    """
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if a.shape != b.shape:
        raise ValueError("the two lists differ in length")
    if not a.size:
        return None
    observed = float((np.abs(a - b) ** power).mean())
    grades_a, counts_a = np.unique(a, return_counts=True)
    grades_b, counts_b = np.unique(b, return_counts=True)
    distances = np.abs(grades_a[:, None] - grades_b[None, :]) ** power
    expected = float(counts_a @ distances @ counts_b) / a.size**2
    return 1 - observed / expected if expected else None


def area_under_curve(scores: Sequence[float], positive: Sequence[bool]) -> float | None:
    """The probability that a positive item scores higher than a negative one; ties count one half.

    None where all items are positive, or none. This is the area under the ROC curve, computed as the
    Mann-Whitney U statistic divided by the number of pairs.

    Source: Hanley and McNeil, "The meaning and use of the area under a ROC curve", Radiology 143 (1982).
    """
    if len(scores) != len(positive):
        raise ValueError("the two lists differ in length")
    is_positive = np.asarray(positive, dtype=bool)
    positives = int(is_positive.sum())
    negatives = len(is_positive) - positives
    if not positives or not negatives:
        return None
    ranks = rankdata(np.asarray(scores, dtype=float))
    u = float(ranks[is_positive].sum()) - positives * (positives + 1) / 2
    return u / (positives * negatives)
