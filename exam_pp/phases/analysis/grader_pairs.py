"""Agreement of two graders on their common items: κ, α, rank correlation and differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from exam_pp.defaults import SAMPLES
from exam_pp.metrics.agreement import Coefficients, coefficients
from exam_pp.metrics.bland_altman import BlandAltman, bland_altman
from exam_pp.metrics.rating_correlation import RatedItem, RatingCorrelation, rating_correlation

Unit = tuple[str, ...]
"""An item with ratings, such as a passage, or an answer with a criterion; its first text is the query id."""
Ratings = Mapping[Unit, int]
"""The ratings of a grader."""

ALL = "all"
"""Name of the comparison of all items."""
MEAN = "mean of criteria"
"""Name of the comparison of mean ratings over criteria."""


@dataclass(frozen=True)
class RatingComparison:
    """Comparison of the ratings of two graders on common items.

    ``coefficients``: Cohen's κ, weighted κ and Krippendorff's α; None for mean ratings. ``differences``: Bias
    and limits of agreement of the first rating minus the second; None without items.
    """

    name: str
    items: Sequence[RatedItem]
    coefficients: Coefficients | None
    correlation: RatingCorrelation
    differences: BlandAltman | None


@dataclass(frozen=True)
class GraderPair:
    """Agreement of two graders on the items of both; ``comparisons`` begin with all items."""

    first: str
    second: str
    comparisons: Sequence[RatingComparison]

    @property
    def common(self) -> int:
        """The number of items that both graders rated."""
        return len(self.comparisons[0].items)

    @property
    def coefficients(self) -> Coefficients:
        """Agreement on all items."""
        pooled = self.comparisons[0].coefficients
        assert pooled is not None, "only means of criteria have no coefficients"
        return pooled

    @property
    def notes(self) -> Iterator[str]:
        """Sentences on undefined numbers."""
        both = f"{self.first} and {self.second}"
        if not self.common:
            yield f"{both} have rated no common items: their agreement is undefined."
            return
        if self.common == 1:
            yield f"{both} have rated one common item: correlations and limits of agreement are undefined."
            return
        for comparison in self.comparisons:
            of = "" if comparison.name == ALL else f" of {comparison.name}"
            constant = [
                name
                for name, ratings in (
                    (self.first, {item.first for item in comparison.items}),
                    (self.second, {item.second for item in comparison.items}),
                )
                if len(ratings) == 1
            ]
            for name in constant:
                other = self.second if name == self.first else self.first
                yield (
                    f"All ratings{of} by {name} of items that {other} rated, too, are equal: τ-b and ρ are "
                    "undefined."
                )


def compare_graders(
    ratings: Mapping[str, Ratings],
    *,
    criterion: Callable[[Unit], str] | None = None,
    samples: int = SAMPLES,
    seed: int = 0,
) -> list[GraderPair]:
    """Compare every two graders on their common items.

    ``criterion``: The criterion of an item, by which the ratings are also compared; the last text of the item
    must be the criterion. By default, all items are compared together only. Returns the pairs, in the order
    of the graders.
    """
    pairs = []
    for first, second in combinations(ratings, 2):
        left, right = ratings[first], ratings[second]
        common = [unit for unit in left if unit in right]
        items = {unit: RatedItem(unit[0], left[unit], right[unit]) for unit in common}
        groups = {ALL: list(items.values())}
        if criterion is not None:
            for unit, item in items.items():
                groups.setdefault(criterion(unit), []).append(item)
            if len(groups) > 2:
                groups[MEAN] = _means(items)
        comparisons = [_comparison(name, group, samples, seed) for name, group in groups.items()]
        pairs.append(GraderPair(first, second, comparisons))
    return pairs


def _means(items: Mapping[Unit, RatedItem]) -> list[RatedItem]:
    """The mean ratings of each answer over the criteria that both graders rated."""
    by_answer: dict[Unit, list[RatedItem]] = {}
    for unit, item in items.items():
        by_answer.setdefault(unit[:-1], []).append(item)
    return [
        RatedItem(
            unit[0],
            sum(item.first for item in of_answer) / len(of_answer),
            sum(item.second for item in of_answer) / len(of_answer),
        )
        for unit, of_answer in by_answer.items()
    ]


def _comparison(name: str, items: Sequence[RatedItem], samples: int, seed: int) -> RatingComparison:
    ratings = [[int(item.first) for item in items], [int(item.second) for item in items]]
    return RatingComparison(
        name,
        items,
        None if name == MEAN else coefficients(*ratings),
        rating_correlation(items, samples=samples, seed=seed),
        bland_altman([item.first - item.second for item in items]),
    )
