"""The alternative annotator test: an example by hand, the published test, and refused input."""

from __future__ import annotations

from random import Random
from typing import get_args

import pytest
from scipy.stats import t

from exam_pp.errors import SelectionError
from exam_pp.metrics.noninferiority import drop_bounds
from exam_pp.plugins.trust.alternative_annotator import Replacement, Test, alternative_annotator_test

Items = dict[str, int]


def test_three_annotators_by_hand() -> None:
    """Four items; the judge says 3 3 0 5.

    Annotator a (3 3 0 1) against b and c: item 1 both exact (b 3, c 3), 1 each. Item 2 (b 3, c 5): both √2,
    1 each. Item 3 (0, 0): 1 each. Item 4 (b 1, c 1): a exact, the judge off by 4: Wʰ only. So Wᶠ is 3/4 and
    d is 0 0 0 1. Annotator b equals a. Annotator c (3 5 0 1) against a and b: item 2 (3, 3): the judge is
    exact and c off by 2: Wᶠ only; item 4: Wʰ only. d is 0 −1 0 1, and Wᶠ again 3/4. No loss is shown to be
    below 0.2, and four ties would not show it, either: with three people, 17 items would.
    """
    judge = {"1": 3, "2": 3, "3": 0, "4": 5}
    a = {"1": 3, "2": 3, "3": 0, "4": 1}
    c = {"1": 3, "2": 5, "3": 0, "4": 1}
    assert alternative_annotator_test(judge, [a, a, c]) == Replacement(3, 4, 0.0, 0.75, too_few=True)


@pytest.mark.parametrize(
    ("counts", "epsilon", "p_value", "bound"),
    [
        ((3, 0, 17), 0.1, 0.8670466766, 0.3436638043),
        ((2, 6, 32), 0.2, 0.0002035380, 0.0419175599),
    ],
)
def test_bounds_of_losses(counts: tuple[int, int, int], epsilon: float, p_value: float, bound: float) -> None:
    """Losses (1), wins (−1) and ties; the numbers are those of an implementation with exact weights."""
    lost, won, tied = counts
    found = drop_bounds([1] * lost + [-1] * won + [0] * tied, epsilon)
    assert (found.p_within, found.high) == pytest.approx((p_value, bound), abs=1e-9)


def test_a_judge_that_loses_more_than_it_may_does_not_pass() -> None:
    """29 items: people say 0, the judge 1 on five of them. Wilcoxon's test lets it pass (p = 0.024)."""
    judge = {str(item): int(item < 5) for item in range(29)}
    found = alternative_annotator_test(judge, [dict.fromkeys(judge, 0)] * 3, 0.1)
    assert (found.winning_rate, found.passed) == (0, False)


@pytest.mark.parametrize(("items", "passed", "too_few"), [(16, False, True), (17, True, False)])
def test_a_judge_that_always_ties_needs_enough_items(items: int, passed: bool, too_few: bool) -> None:
    """(1 − 0.2)ⁿ is at most 0.05 / (1 + 1/2 + 1/3) from n = 17 on."""
    same = {str(item): item % 3 for item in range(items)}
    found = alternative_annotator_test(same, [same] * 3, 0.2)
    assert (found.passed, found.too_few) == (passed, too_few)


def plain(judge: Items, annotators: list[Items], epsilon: float, test: Test) -> tuple[float, float]:
    """ω and ρ without the package's losses and correction; squared errors have the order of their roots."""
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
        if test == "published":
            mean = sum(differences) / n
            deviation = (sum((d - mean) ** 2 for d in differences) / (n - 1)) ** 0.5
            p_values.append(t.cdf((mean - epsilon) / (deviation / n**0.5), n - 1))
        else:
            p_values.append(drop_bounds(differences, epsilon).p_within)
    order = sorted(p_values)
    m = len(order)
    harmonic = sum(1 / k for k in range(1, m + 1))
    rejected = 0
    for k in range(m, 0, -1):
        if order[k - 1] <= 0.05 * k / (m * harmonic):
            rejected = k
            break
    return rejected / m, sum(advantages) / m


@pytest.mark.parametrize("test", get_args(Test))
@pytest.mark.parametrize(("items", "noise"), [(45, 0.5), (60, 0.1), (60, 0.4), (200, 0.9)])
def test_equals_a_plain_implementation(items: int, noise: float, test: Test) -> None:
    draw = Random(items)
    truth = {str(item): draw.randint(0, 5) for item in range(items)}

    def rater(share: float) -> Items:
        return {item: draw.randint(0, 5) if draw.random() < share else grade for item, grade in truth.items()
                if draw.random() < 0.9}  # fmt: skip

    annotators = [rater(0.3) for _ in range(4)]
    judge = rater(noise)
    for epsilon in (0.1, 0.2):
        found = alternative_annotator_test(judge, annotators, epsilon, test)
        assert (found.winning_rate, found.advantage) == pytest.approx(plain(judge, annotators, epsilon, test))


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


def test_the_published_test_needs_thirty_items() -> None:
    same = {str(item): item % 3 for item in range(29)}
    with pytest.raises(
        SelectionError, match=r"needs 30 items of each person, but one has 29; use --test bound"
    ):
        alternative_annotator_test(same, [same] * 3, test="published")
