"""Numbers of queries and of labels to plan for: sample sizes for leaderboards and corrected scores."""

from __future__ import annotations

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from exam_pp.defaults import CONFIDENCE
from exam_pp.errors import SelectionError
from exam_pp.metrics.significance import (
    QueriesNeeded,
    fewest_to_differ,
    queries_for_effect,
    queries_to_detect_range,
)

DIFFERENCE, SPREAD = 0.05, 0.2
"""The difference of two means that a plan is for, and the standard deviation of paired differences before
there are data; both are shares of the range of the measure."""
_POWER = 0.8


class PlannedQueries(NamedTuple):
    """The number of queries that show a difference of two of so many systems with probability 0.8.

    ``needed`` has the number, and its range by the spread of a pilot. ``spread``: The standard deviation of
    paired differences that is assumed without a pilot; None with a pilot.
    """

    systems: int
    difference: float
    needed: QueriesNeeded
    spread: float | None

    @property
    def sentence(self) -> str:
        """The number, and how sure it is."""
        between = "two systems" if self.systems == 2 else f"two of {self.systems} systems"
        sure = f"{self.needed.low} to {self.needed.high}, by how scores vary here"
        if self.spread is not None:
            sure = f"if paired differences have a standard deviation of {self.spread:.3g}"
        return (
            f"A true difference of {self.difference:.3g} between {between} takes about {self.needed.queries} "
            f"queries to show with a probability of 80 % ({sure})."
        )


def plan_queries(
    systems: int,
    pilot: ArrayLike | None = None,
    *,
    difference: float = DIFFERENCE,
    spread: float = SPREAD,
    confidence: float = CONFIDENCE,
) -> PlannedQueries:
    """The number of queries for a leaderboard of so many systems, by a formula.

    It is that of a t-test with power 0.8 and a tail of α/2 divided by the number of pairs of systems, and at
    least the smallest number that can show a difference.

    Args:
        systems: Number of systems, at least two.
        pilot: Scores, systems × queries; queries with NaN are left out. Of its pairs of systems, the one with
            the median spread counts. If this has fewer than ten differences other than 0, ``spread`` is
            assumed.
        difference: True difference of two means, named by the user; never the observed one.
        spread: Assumed standard deviation of paired differences.
        confidence: 1 minus the level α of the tests.

    Raises:
        SelectionError: There are fewer than two systems, or more than a billion queries are needed.
    """
    pairs = max(1, systems * (systems - 1) // 2)
    tail, fewest = (1 - confidence) / 2 / pairs, fewest_to_differ(systems, alpha=1 - confidence)
    if pilot is not None:
        values = np.asarray(pilot, dtype=float)
        differences = (values[:, None] - values)[np.triu_indices(len(values), k=1)]
        differences = differences[:, ~np.isnan(differences).any(axis=0)]
        if differences.size:
            median = np.argsort(differences.std(axis=1), kind="stable")[len(differences) // 2]
            found = queries_to_detect_range(difference, differences[median], tail=tail, power=_POWER)
            if found is not None and found.high is not None:
                of_pilot = QueriesNeeded(*(max(fewest, number or 0) for number in found))
                return PlannedQueries(systems, difference, of_pilot, None)
    queries = queries_for_effect(difference / spread, tail, _POWER)
    if systems < 2 or queries is None:
        raise SelectionError(
            f"{systems} systems and a difference of {difference:g} have no plan; name two systems or "
            "more, or a larger difference."
        )
    return PlannedQueries(systems, difference, QueriesNeeded(*[max(fewest, queries)] * 3), spread)


def labels_needed(half_width: float, *, correlation: float = 0.0, pairs: int | None = None) -> int:
    """The number of labels of people for a corrected share whose interval of 95 % has this half width.

    The half width of m labels is 1.96 S/√m · √(1 − m/N). Before there are labels, S² is at most ¼(1 − r²).

    Args:
        half_width: Half of the width of the interval, in units of the share.
        correlation: Expected correlation r of the judge's ratings with the labels; 0 is safe.
        pairs: The number N of pairs from which the labels are drawn; None: far more than labels.
    """
    of_many = (float(ndtri(0.975)) / half_width / 2) ** 2 * (1 - correlation**2)
    return ceil(of_many / (1 + of_many / pairs) if pairs else of_many)
