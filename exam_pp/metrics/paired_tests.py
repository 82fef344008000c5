"""Paired tests between two systems: Student's t test and the randomisation test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import ttest_rel

from exam_pp.defaults import CONFIDENCE
from exam_pp.metrics.score_ranges import Range, range_of_differences
from exam_pp.metrics.significance import randomisation_tests
from exam_pp.metrics.uncertainty import Interval, mean_interval


class PairedTests(NamedTuple):
    """Tests of whether two systems differ in their mean score over the same queries; both are two-sided.

    ``second``: Mean of the second system. ``t``: Statistic of the t test with ``queries`` − 1 degrees of
    freedom; None if all differences are equal. ``t_p_value``: p-value of the t test; None if all differences
    are equal.
    """

    queries: int
    first: float
    second: float
    interval: Interval | None
    t: float | None
    t_p_value: float | None
    p_value: float

    @property
    def difference(self) -> float:
        """Mean of the first system minus that of the second."""
        return self.first - self.second


def paired_tests(
    first: Sequence[float],
    second: Sequence[float],
    bounds: Range | None,
    *,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> PairedTests:
    """Test two systems by their scores on the same queries; at least one query is needed.

    The randomisation test is exact for up to 13 queries; for more it draws 10,000 sign assignments
    (:func:`exam_pp.metrics.significance.randomisation_tests`).

    Source: Student, "The probable error of a mean", Biometrika 6 (1908); equals scipy.stats.ttest_rel.

    ``second``: Scores of the second system, in the same order of queries. ``bounds``: The lowest and highest
    possible score; None if they are unknown.
    """
    differences = [a - b for a, b in zip(first, second, strict=True)]
    statistic = p_value = None
    if len(set(differences)) > 1:
        result = ttest_rel(first, second)
        statistic, p_value = float(result.statistic), float(result.pvalue)
    return PairedTests(
        len(differences),
        float(np.mean(first)),
        float(np.mean(second)),
        mean_interval(differences, range_of_differences(bounds), confidence),
        statistic,
        p_value,
        float(randomisation_tests(np.array([first, second], dtype=float), seed=seed)[0, 1]),
    )
