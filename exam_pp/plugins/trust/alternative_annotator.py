"""Alternative annotator test: whether a judge may stand in for one of several human annotators.

Source: Calderon, Reichart and Dror, "The Alternative Annotator Test for LLM-as-a-Judge: How to Statistically
Justify Replacing Human Annotators with LLMs" (ACL 2025, arXiv:2501.10970), section 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Literal, NamedTuple, TypeVar

import numpy as np
from scipy.stats import false_discovery_control, ttest_1samp

from exam_pp.errors import SelectionError
from exam_pp.metrics.entry_values import Floats
from exam_pp.metrics.noninferiority import drop_bounds, fewest_queries

FEWEST_ANNOTATORS = 3
"""Fewer annotators do not show how much people differ among themselves."""
COSTS = {"experts": 0.2, "skilled annotators": 0.15, "crowd workers": 0.1}
"""ε of the paper: the advantage over a judge that people must have to be worth their cost."""
Test = Literal["bound", "published"]
"""Gaffke's bound of the judge's loss, for any number of items, or the t test of the paper, from 30 items."""

_FALSE_DISCOVERIES = 0.05
_FEWEST_FOR_T = 30
_Item = TypeVar("_Item")


class Replacement(NamedTuple):
    """Whether a judge may replace annotators.

    ``winning_rate`` (ω): Share of annotators over whom the judge's loss is shown to be below ε.
    ``advantage`` (ρ): Probability that the judge agrees with the other annotators at least as well as an
    annotator does, as mean over annotators. ``items`` were rated by the judge and two annotators or more.
    ``too_few``: Whether most annotators have so few items that a judge could not pass by equal scores on all.
    """

    annotators: int
    items: int
    winning_rate: float
    advantage: float
    too_few: bool = False

    @property
    def passed(self) -> bool:
        """Whether the judge wins against half of the annotators or more."""
        return self.winning_rate >= 0.5


def alternative_annotator_test(
    judge: Mapping[_Item, float],
    annotators: Sequence[Mapping[_Item, float]],
    epsilon: float = COSTS["experts"],
    test: Test = "bound",
) -> Replacement:
    """Test whether a judge may replace annotators, by ratings that each gave to items.

    Judge and annotator j are compared on each item that both and another annotator rated: the score of a
    rating is the negative root of its mean squared difference from the ratings of the other annotators. For
    ratings 0 and 1, this is the order by accuracy; labels without an order need another score. Wᶠ is 1 if the
    judge's score is at least that of j, and Wʰ is 1 if that of j is at least the judge's; equal scores give 1
    to both. The null hypothesis for j is mean(Wʰ − Wᶠ) ≥ ε. It is tested one-sided by Gaffke's bound
    (:func:`exam_pp.metrics.noninferiority.drop_bounds`); the authors use Student's t test, and Wilcoxon's
    signed-rank test below 30 items, which does not test the mean. The p-values of all annotators are
    corrected by Benjamini and Yekutieli (Annals of Statistics 29, 2001) with a false discovery rate of 0.05.

    Args:
        judge: Item to rating.
        annotators: The ratings of each annotator.
        epsilon: The advantage that annotators may have over the judge (:data:`COSTS`).
        test: :data:`Test`.

    Raises:
        SelectionError: Fewer than three annotators share items with the judge and another annotator, or the
            published test has fewer than 30 items.
    """
    p_values: list[float] = []
    advantages: list[float] = []
    counts: list[int] = []
    used: set[_Item] = set()
    for number, own in enumerate(annotators):
        others = [*annotators[:number], *annotators[number + 1 :]]
        of_item = {item: [of[item] for of in others if item in of] for item in own.keys() & judge.keys()}
        items = [item for item, ratings in of_item.items() if ratings]
        if not items:
            continue
        losses = [(_loss(judge[item], of_item[item]), _loss(own[item], of_item[item])) for item in items]
        judge_wins = np.array([a <= b for a, b in losses], dtype=float)
        annotator_wins = np.array([b <= a for a, b in losses], dtype=float)
        advantages.append(float(judge_wins.mean()))
        p_values.append(_p_value(annotator_wins - judge_wins, epsilon, test))
        counts.append(len(items))
        used.update(items)
    if len(p_values) < FEWEST_ANNOTATORS:
        raise SelectionError(
            f"The alternative annotator test needs the ratings of {FEWEST_ANNOTATORS} people on items that "
            f"the judge rated, too, but {len(p_values)} have items in common with others."
        )
    rate = float((false_discovery_control(p_values, method="by") <= _FALSE_DISCOVERIES).mean())
    # The correction divides the level by 1 + 1/2 + ... if all hypotheses are rejected together.
    level = _FALSE_DISCOVERIES / sum(1 / k for k in range(1, len(counts) + 1))
    needed = fewest_queries(epsilon, confidence=1 - level) or 0
    too_few = test == "bound" and sum(count >= needed for count in counts) < len(counts) / 2
    return Replacement(len(counts), len(used), rate, sum(advantages) / len(counts), too_few)


def _loss(rating: float, others: Sequence[float]) -> float:
    return sqrt(sum((rating - other) ** 2 for other in others) / len(others))


def _p_value(differences: Floats, epsilon: float, test: Test) -> float:
    """P-value of the null hypothesis that the mean of differences is at least ε."""
    if test == "bound":
        return drop_bounds(differences, epsilon).p_within
    if len(differences) < _FEWEST_FOR_T:
        raise SelectionError(
            f"The published alternative annotator test needs {_FEWEST_FOR_T} items of each person, but one "
            f"has {len(differences)}; use --test bound."
        )
    if not differences.std():  # t is infinite
        return float(differences[0] >= epsilon)
    return float(ttest_1samp(differences, epsilon, alternative="less").pvalue)
