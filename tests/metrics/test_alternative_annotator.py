"""The alternative annotator test: an example by hand, a second implementation, and refused input."""

from __future__ import annotations

from random import Random

import pytest
from scipy.stats import t

from exam_pp.errors import SelectionError
from exam_pp.metrics.alternative_annotator import Replacement, alternative_annotator_test
from exam_pp.metrics.noninferiority import drop_bounds

Items = dict[str, int]


def test_three_annotators_by_hand() -> None:
    """Four items; the judge says 3 3 0 5.

    Annotator a (3 3 0 1) against b and c: item 1 both exact (b 3, c 3), 1 each. Item 2 (b 3, c 5): both √2,
    1 each. Item 3 (0, 0): 1 each. Item 4 (b 1, c 1): a exact, the judge off by 4: Wʰ only. So Wᶠ is 3/4 and
    d is 0 0 0 1. Annotator b equals a. Annotator c (3 5 0 1) against a and b: item 2 (3, 3): the judge is
    exact and c off by 2: Wᶠ only; item 4: Wʰ only. d is 0 −1 0 1, and Wᶠ again 3/4.

    Four items can show nothing: a judge that always ties needs 17 at ε = 0.2, as .8^17 (1 + 1/2 + 1/3) < .05.
    """
    judge = {"1": 3, "2": 3, "3": 0, "4": 5}
    a = {"1": 3, "2": 3, "3": 0, "4": 1}
    c = {"1": 3, "2": 5, "3": 0, "4": 1}
    assert alternative_annotator_test(judge, [a, a, c]) == Replacement(3, 4, 0.0, 0.75, 17)


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
        mean = sum(differences) / n
        deviation = (sum((d - mean) ** 2 for d in differences) / (n - 1)) ** 0.5
        p_values.append(t.cdf((mean - epsilon) / (deviation / n**0.5), n - 1))
    order = sorted(p_values)
    m = len(order)
    harmonic = sum(1 / k for k in range(1, m + 1))
    rejected = 0
    for k in range(m, 0, -1):
        if order[k - 1] <= 0.05 * k / (m * harmonic):
            rejected = k
            break
    return rejected / m, sum(advantages) / m


@pytest.mark.parametrize(("items", "noise"), [(60, 0.1), (60, 0.4), (200, 0.9)])
def test_the_published_test_equals_a_plain_implementation(items: int, noise: float) -> None:
    draw = Random(items)
    truth = {str(item): draw.randint(0, 5) for item in range(items)}

    def rater(share: float) -> Items:
        return {item: draw.randint(0, 5) if draw.random() < share else grade for item, grade in truth.items()
                if draw.random() < 0.9}  # fmt: skip

    annotators = [rater(0.3) for _ in range(4)]
    judge = rater(noise)
    for epsilon in (0.1, 0.2):
        found = alternative_annotator_test(judge, annotators, epsilon, test="published")
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
    assert alternative_annotator_test(judge, people) == Replacement(3, 40, rate, rate, 17)


@pytest.mark.parametrize("people", [[], [{"a": 1}], [{"a": 1}] * 2, [{"a": 1}, {"a": 1}, {"b": 1}]])
def test_fewer_than_three_people_are_refused(people: list[Items]) -> None:
    with pytest.raises(SelectionError, match="needs the ratings of 3 people"):
        alternative_annotator_test({"a": 1, "b": 1}, people)


@pytest.mark.parametrize(
    ("ones", "zeros", "minus", "epsilon", "p", "bound"),
    [(3, 17, 0, 0.1, 0.8670466766, 0.3436638043), (2, 32, 6, 0.2, 0.0002035380, 0.0419175599)],
)
def test_bounds_of_another_implementation(
    ones: int, zeros: int, minus: int, epsilon: float, p: float, bound: float
) -> None:
    found = drop_bounds([1] * ones + [0] * zeros + [-1] * minus, epsilon)
    assert (found.p_within, found.high) == pytest.approx((p, bound), abs=1e-9)


def test_a_judge_that_loses_on_a_sixth_of_few_items_does_not_pass() -> None:
    """Wilcoxon's test, which the paper takes below 30 items, lets it pass at ε = 0.1."""
    items = range(29)
    judge, people = dict.fromkeys(items, 0) | dict.fromkeys(range(5), 1), dict.fromkeys(items, 0)
    found = alternative_annotator_test(judge, [people] * 3, 0.1)
    assert (found.passed, found.too_few) == (False, True)
    for count in (34, 35):
        equal = dict.fromkeys(range(count), 0)
        found = alternative_annotator_test(equal, [equal] * 3, 0.1)
        assert (found.passed, found.too_few) == (count == 35, count == 34)
    with pytest.raises(SelectionError, match="needs 30 items"):
        alternative_annotator_test(judge, [people] * 3, test="published")
