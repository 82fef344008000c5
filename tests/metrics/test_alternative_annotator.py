"""The alternative annotator test: an example by hand, a second implementation, and refused input."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from scipy.stats import t

from exam_pp.errors import SelectionError
from exam_pp.metrics.alternative_annotator import Replacement, alternative_annotator_test

Items = dict[str, int]


def test_three_annotators_by_hand() -> None:
    """Four items; the judge says 3 3 0 5.

    Annotator a (3 3 0 1) against b and c: item 1 both exact (b 3, c 3), 1 each. Item 2 (b 3, c 5): both √2,
    1 each. Item 3 (0, 0): 1 each. Item 4 (b 1, c 1): a exact, the judge off by 4: Wʰ only. So Wᶠ is 3/4 and
    d is 0 0 0 1. Annotator b equals a. Annotator c (3 5 0 1) against a and b: item 2 (3, 3): the judge is
    exact and c off by 2: Wᶠ only; item 4: Wʰ only. d is 0 −1 0 1, and Wᶠ again 3/4.

    d − 0.2 of a has signs − − − + with ranks 2 2 2 4: of the 16 sums of signed ranks, W⁺ ≤ 4 for the sums 0,
    2 (three times), 4 (three pairs, and the 4 alone): p = 8/16. None is rejected.
    """
    judge = {"1": 3, "2": 3, "3": 0, "4": 5}
    a = {"1": 3, "2": 3, "3": 0, "4": 1}
    c = {"1": 3, "2": 5, "3": 0, "4": 1}
    assert alternative_annotator_test(judge, [a, a, c]) == Replacement(3, 4, 0.0, 0.75)


def plain(judge: Items, annotators: list[Items], epsilon: float) -> tuple[float, float]:
    """ω and ρ, without any function of the package; squared errors have the order of their roots."""
    p_values, advantages = [], []
    for j, own in enumerate(annotators):
        won, differences = [], []
        for item in sorted(own):
            others = [of[item] for k, of in enumerate(annotators) if k != j and item in of]
            if item not in judge or not others:
                continue
            error_of_judge = sum((judge[item] - x) ** 2 for x in others)
            error_of_own = sum((own[item] - x) ** 2 for x in others)
            won.append(1 if error_of_judge <= error_of_own else 0)
            differences.append((1 if error_of_own <= error_of_judge else 0) - won[-1])
        n = len(won)
        advantages.append(sum(won) / n)
        if n >= 30:
            mean = sum(differences) / n
            deviation = (sum((d - mean) ** 2 for d in differences) / (n - 1)) ** 0.5
            p_values.append(t.cdf((mean - epsilon) / (deviation / n**0.5), n - 1))
        else:
            p_values.append(wilcoxon(differences, epsilon))
    order = sorted(p_values)
    m = len(order)
    harmonic = sum(1 / k for k in range(1, m + 1))
    rejected = 0
    for k in range(m, 0, -1):
        if order[k - 1] <= 0.05 * k / (m * harmonic):
            rejected = k
            break
    return rejected / m, sum(advantages) / m


def wilcoxon(differences: list[int], epsilon: float) -> float:
    """The exact p-value, by going through all signs."""
    values = [Fraction(d) - Fraction(str(epsilon)) for d in differences]
    sizes = sorted(abs(v) for v in values)
    ranks = [Fraction(2 * sizes.index(abs(v)) + sizes.count(abs(v)) + 1, 2) for v in values]
    observed = sum(rank for rank, v in zip(ranks, values, strict=True) if v > 0)
    sums = [
        sum(r for r, on in zip(ranks, signs, strict=True) if on)
        for signs in product([0, 1], repeat=len(ranks))
    ]
    return sum(s <= observed for s in sums) / len(sums)


@pytest.mark.parametrize(("items", "noise"), [(9, 0.1), (12, 0.5), (60, 0.1), (60, 0.4), (200, 0.9)])
def test_equals_a_plain_implementation(items: int, noise: float) -> None:
    draw = Random(items)
    truth = {str(item): draw.randint(0, 5) for item in range(items)}

    def rater(share: float) -> Items:
        return {item: draw.randint(0, 5) if draw.random() < share else grade for item, grade in truth.items()
                if draw.random() < 0.9}  # fmt: skip

    annotators = [rater(0.3) for _ in range(4)]
    judge = rater(noise)
    for epsilon in (0.1, 0.2):
        found = alternative_annotator_test(judge, annotators, epsilon)
        assert (found.winning_rate, found.advantage) == pytest.approx(plain(judge, annotators, epsilon))


NOISY = [{item: (item % 6 + (item % 3 == who)) % 6 for item in range(40)} for who in range(3)]


@pytest.mark.parametrize(
    ("judge", "people", "rate"),
    [
        ({item: item % 6 for item in range(40)}, NOISY, 1.0),
        (dict.fromkeys(range(40), 5), [dict.fromkeys(range(40), 2)] * 3, 0.0),
    ],
    ids=["perfect judge of noisy people", "judge that disagrees with all"],
)
def test_extreme_judges(judge: dict[int, int], people: list[dict[int, int]], rate: float) -> None:
    assert alternative_annotator_test(judge, people) == Replacement(3, 40, rate, rate)


@pytest.mark.parametrize("people", [[], [{"a": 1}], [{"a": 1}] * 2, [{"a": 1}, {"a": 1}, {"b": 1}]])
def test_fewer_than_three_people_are_refused(people: list[Items]) -> None:
    with pytest.raises(SelectionError, match="needs the ratings of 3 people"):
        alternative_annotator_test({"a": 1, "b": 1}, people)
