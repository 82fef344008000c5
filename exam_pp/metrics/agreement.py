"""Agreement of labels: Cohen's κ, weighted κ, Krippendorff's α, area under the ROC curve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import rankdata

from exam_pp.defaults import SAMPLES
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.uncertainty import Interval, enough_samples, intervals


def weighted_kappa(first: Sequence[int], second: Sequence[int], *, power: int = 2) -> float | None:
    """Cohen's κ of two lists of grades of the same items, with disagreements weighted by |i − j|^power.

    ``power`` 2 gives quadratic weights, 1 linear weights. κ is 1 for perfect agreement and 0 for the
    agreement expected by chance with the same marginals. Returns None if the lists are empty or all
    grades are the same. With quadratic weights, a grader that always gives the same grade has κ 0.

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
    """Area under the ROC curve: the probability that a positive item scores above a negative one.

    Ties count 1/2. Computed as the Mann-Whitney U statistic divided by the number of pairs. Returns None
    if all items are positive or all are negative.

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


Level = Literal["nominal", "ordinal", "interval"]


def cohen_kappa(counts: Sequence[Sequence[float]]) -> float | None:
    """Cohen's κ of a confusion matrix; rows and columns have the same labels in the same order.

    Returns None if the table is empty or all counts are in one cell of the diagonal.

    Source: Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
    Measurement 20 (1960).
    """
    table = np.asarray(counts, dtype=float)
    total = float(table.sum())
    if not total:
        return None
    chance = float(table.sum(axis=1) @ table.sum(axis=0)) / total**2
    return None if chance == 1 else (float(np.trace(table)) / total - chance) / (1 - chance)


def confusion(first: Sequence[int], second: Sequence[int]) -> list[list[int]]:
    """Confusion matrix for :func:`cohen_kappa`; labels are the grades of both lists, ascending."""
    position = {grade: index for index, grade in enumerate(sorted({*first, *second}))}
    counts = [[0] * len(position) for _ in position]
    for a, b in zip(first, second, strict=True):
        counts[position[a]][position[b]] += 1
    return counts


def kappa_interval(
    tables: Sequence[Sequence[Sequence[float]]],
    *,
    samples: int = SAMPLES,
    seed: int = 0,
) -> Interval | None:
    """95 % interval of Cohen's κ over resampled queries.

    ``tables`` are confusion matrices, one per query. Returns None for fewer than five queries and if
    κ is undefined or the same in every sample.
    """
    counts = np.asarray(tables, dtype=float)
    queries = len(counts)
    samples = enough_samples(queries, samples)
    weights = np.random.default_rng(seed).multinomial(queries, np.full(queries, 1 / queries), size=samples)
    drawn = np.tensordot(weights, counts, axes=1)
    total = drawn.sum(axis=(1, 2))
    agreed = np.trace(drawn, axis1=1, axis2=2) * total
    chance = (drawn.sum(axis=2) * drawn.sum(axis=1)).sum(axis=1)
    defined = total**2 > chance
    kappas = (agreed - chance)[defined] / (total**2 - chance)[defined]
    return intervals(kappas[:, None], queries, 0.95)[0]


def krippendorff_alpha(units: Iterable[Sequence[int]], level: Level = "nominal") -> float | None:
    """Krippendorff's α of any number of graders; a unit is the list of all grades of one item.

    Units with fewer than two grades are ignored. ``level`` sets the distance of two different grades:
    1 (nominal), the squared number of ranks between them (ordinal), or their squared difference
    (interval). Returns None if all grades are equal.

    Source: Krippendorff, "Computing Krippendorff's alpha-reliability" (2011).
    """
    pairable = [unit for unit in units if len(unit) > 1]
    grades = sorted({grade for unit in pairable for grade in unit})
    position = {grade: index for index, grade in enumerate(grades)}
    coincidences = np.zeros((len(grades), len(grades)))
    for unit in pairable:
        counts = np.bincount([position[grade] for grade in unit], minlength=len(grades))
        coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    distances = _distances(np.asarray(grades, dtype=float), totals, level)
    expected = float(totals @ distances @ totals)
    if not expected:
        return None
    return 1 - (float(totals.sum()) - 1) * float((coincidences * distances).sum()) / expected


def _distances(grades: Floats, totals: Floats, level: Level) -> Floats:
    match level:
        case "nominal":
            return 1.0 - np.eye(len(grades))
        case "interval":
            return np.asarray((grades[:, None] - grades[None, :]) ** 2)
        case "ordinal":
            middle = np.cumsum(totals) - totals / 2
            return np.asarray((middle[:, None] - middle[None, :]) ** 2)


class Coefficients(NamedTuple):
    """Agreement of two lists of labels: 1 is perfect; None is undefined."""

    kappa: float | None
    linear_kappa: float | None
    quadratic_kappa: float | None
    ordinal_alpha: float | None


def coefficients(first: Sequence[int], second: Sequence[int]) -> Coefficients:
    """Cohen's κ, κ with linear and quadratic weights, and Krippendorff's α of labels of the same items."""
    return Coefficients(
        cohen_kappa(confusion(first, second)),
        weighted_kappa(first, second, power=1),
        weighted_kappa(first, second),
        krippendorff_alpha(zip(first, second, strict=True), "ordinal"),
    )
