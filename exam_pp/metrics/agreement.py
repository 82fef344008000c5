"""Agreement of graders: κ, weighted κ, Krippendorff's α, ROC area, Bland-Altman; consensus of ratings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from math import isnan
from statistics import fmean
from typing import Literal, NamedTuple

import numpy as np

from exam_pp.defaults import SAMPLES
from exam_pp.metrics.correlation import average_ranks
from exam_pp.metrics.entry_values import Floats, Ints
from exam_pp.metrics.uncertainty import Interval, intervals, query_counts


def weighted_kappa(first: Sequence[int], second: Sequence[int], *, power: int = 2) -> float | None:
    """Cohen's κ of two lists of grades of the same items, with disagreements weighted by |i − j|^power.

    ``power`` 2 gives quadratic weights, 1 linear weights. κ is 1 for perfect agreement and 0 for the
    agreement expected by chance with the same marginals. Returns None if the lists are empty or all
    grades are the same. With quadratic weights, a grader that always gives the same grade has κ 0.

    Source: Cohen, "Weighted kappa", Psychological Bulletin 70 (1968).
    """
    if len(first) != len(second):
        raise ValueError("the two lists differ in length")
    grades = np.unique(np.array([first, second], dtype=float))
    return cohen_kappa(confusion_counts(first, second), np.abs(np.subtract.outer(grades, grades)) ** power)


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
    ranks = average_ranks(scores)
    u = float(ranks[is_positive].sum()) - positives * (positives + 1) / 2
    return u / (positives * negatives)


Level = Literal["nominal", "ordinal", "interval"]


def cohen_kappa(
    counts: Sequence[Sequence[float]] | Ints | Floats, distances: Floats | None = None
) -> float | None:
    """Cohen's κ of a confusion matrix; rows and columns have the same labels in the same order.

    ``distances``: Weight of each disagreement. Default: 1 for all. Returns None if the table is empty or all
    counts are in one cell of the diagonal.

    Source: Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
    Measurement 20 (1960).
    """
    (kappa,) = _kappas(np.asarray(counts, dtype=float)[None], distances).tolist()
    return None if isnan(kappa) else float(kappa)


def _kappas(tables: Floats, distances: Floats | None = None) -> Floats:
    """:func:`cohen_kappa` of each table; NaN if it is undefined."""
    weights = 1 - np.eye(tables.shape[1]) if distances is None else distances
    expected = np.einsum("ti,ij,tj->t", tables.sum(axis=2), weights, tables.sum(axis=1))
    observed = (tables * weights).sum(axis=(1, 2)) * tables.sum(axis=(1, 2))
    return np.asarray(
        1 - np.divide(observed, expected, out=np.full_like(expected, np.nan), where=expected > 0)
    )


def confusion_counts(first: Sequence[int], second: Sequence[int]) -> Ints:
    """Confusion matrix for :func:`cohen_kappa`; labels are the grades of both lists, ascending."""
    grades, positions = np.unique(np.array([first, second]), return_inverse=True)
    counts = np.zeros((len(grades), len(grades)), dtype=np.int64)
    np.add.at(counts, tuple(positions.reshape(2, -1)), 1)
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
    drawn = np.tensordot(query_counts(queries, samples, seed).astype(float), counts, axes=1)
    return intervals(_kappas(drawn)[:, None], queries, 0.95)[0]


def krippendorff_alpha(units: Iterable[Sequence[int]], level: Level = "nominal") -> float | None:
    """Krippendorff's α of any number of graders; a unit is the list of all grades of one item.

    Units with fewer than two grades are ignored. ``level`` sets the distance of two different grades:
    1 (nominal), the squared number of ranks between them (ordinal), or their squared difference
    (interval). Returns None if all grades are equal.

    Source: Krippendorff, "Computing Krippendorff's alpha-reliability" (2011).
    """
    # Few combinations of grades occur, so equal units are counted together.
    pairable = Counter(tuple(sorted(unit)) for unit in units if len(unit) > 1)
    grades = sorted({grade for unit in pairable for grade in unit})
    position = {grade: index for index, grade in enumerate(grades)}
    coincidences = np.zeros((len(grades), len(grades)))
    for unit, number in pairable.items():
        counts = np.bincount([position[grade] for grade in unit], minlength=len(grades))
        coincidences += number * (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
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


class MacroF1(NamedTuple):
    """Mean over answers of the macro F1 of two graders, in 0..1; None without answers.

    ``labels`` is that of all labels that are given, ``highest`` that of the highest one against the others.
    """

    labels: float | None
    highest: float | None


def macro_f1(answers: Collection[Sequence[tuple[int, int]]]) -> MacroF1:
    """Macro F1 of answers, each with pairs of the labels of its entries.

    Macro F1 is the mean F1 of all labels of the scale, in every answer; a label on which the two never agree
    has 0. Source: ResearchRubrics, which measures judges against people so.
    """
    labels = {label for answer in answers for pair in answer for label in pair}
    if not labels:
        return MacroF1(None, None)
    top = max(labels)
    highest = [[(int(first == top), int(second == top)) for first, second in answer] for answer in answers]
    return MacroF1(_macro_f1(answers, labels), _macro_f1(highest, (0, 1)))


def _macro_f1(answers: Iterable[Sequence[tuple[int, int]]], labels: Collection[int]) -> float:
    scores = []
    for answer in answers:
        pairs = Counter(answer)
        named = Counter(label for pair in answer for label in pair)
        of_labels = [2 * pairs[label, label] / named[label] if named[label] else 0.0 for label in labels]
        scores.append(sum(of_labels) / len(of_labels))
    return fmean(scores)


class Coefficients(NamedTuple):
    """Agreement of two lists of labels: 1 is perfect; None is undefined."""

    kappa: float | None
    linear_kappa: float | None
    quadratic_kappa: float | None
    ordinal_alpha: float | None


def coefficients(first: Sequence[int], second: Sequence[int]) -> Coefficients:
    """Cohen's κ, κ with linear and quadratic weights, and Krippendorff's α of labels of the same items."""
    return Coefficients(
        cohen_kappa(confusion_counts(first, second)),
        weighted_kappa(first, second, power=1),
        weighted_kappa(first, second),
        krippendorff_alpha(zip(first, second, strict=True), "ordinal"),
    )
