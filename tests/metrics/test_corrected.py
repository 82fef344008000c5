"""Corrected scores: exact expectations over all draws, intervals, bounds, and numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import isclose

import numpy as np
import pytest

from exam_pp.metrics.corrected import (
    Evidence,
    MoreLabels,
    PairGroups,
    evidence,
    group_scores,
    joined,
    label_covariance,
    label_half_width,
    label_quantile,
    more_labels,
    most_errors,
    query_half_width,
)
from exam_pp.metrics.corrected_estimates import Sampling, Source, estimates
from exam_pp.metrics.corrected_pairs import RatedPairs, Weighting, groups_of
from exam_pp.metrics.entry_values import Floats

LENIENT = np.array([0.5, 0.5])
"""Weights of the thresholds 2 and 1: partial support scores one half."""
JUDGE = np.array([[0, 2, 1], [1, 0, 2]])
PEOPLE = np.array([[1, 0, 0], [0, 2, 1]])
"""Labels 0 to 2 of two entries (rows) for three passages."""
PROBABILITY = np.array([[0.3, 0.5, 0.8], [0.6, 0.25, 0.9]])
MEMBERS = np.array([[[True, True, False]], [[False, True, True]], [[True, True, True]]])
ENTRIES = np.array([0.3, 0.6])
"""Probabilities of the two entries if all pairs of an entry are drawn together."""
WEIGHTS = np.array([[0.7, 0.3]] * 3)
"""The entries count 0.7 and 0.3 for each of three systems, which share passages."""
LEFT, RIGHT = np.array([0, 1, 2, 0, 1]), np.array([0, 1, 2, 1, 2])


def levels(ratings: Floats) -> Floats:
    return np.array([ratings >= 2, ratings >= 1], dtype=float)


def groups(drawn: Floats, probability: Floats = PROBABILITY) -> PairGroups:
    errors = (levels(PEOPLE) - levels(JUDGE)) * drawn
    return PairGroups(levels(JUDGE), errors, probability, MEMBERS, WEIGHTS, LENIENT)


def expectation(value: Callable[[Floats], Floats], probability: Floats = PROBABILITY) -> Floats:
    """The exact mean of a value over all 64 samples."""
    total = 0.0
    for bits in product((0, 1), repeat=6):
        drawn = np.array(bits).reshape(2, 3)
        chance = np.where(drawn, probability, 1 - probability).prod()
        total = total + chance * value(drawn)
    return np.array(total)


def scores(drawn: Floats, probability: Floats = PROBABILITY) -> Floats:
    pairs = groups(drawn, probability)
    return group_scores(pairs, pairs.corrected)


def exact_covariance(probability: Floats) -> Floats:
    mean = expectation(lambda drawn: scores(drawn, probability), probability)

    def of_draw(drawn: Floats) -> Floats:
        distance = scores(drawn, probability) - mean
        return np.array(distance[LEFT] * distance[RIGHT])

    return expectation(of_draw, probability)


def test_cover_is_unbiased_for_the_cover_by_people() -> None:
    """Over all samples, the mean is the lenient score that people's labels give."""
    best = [[max(row[m] for m in ms) / 2 for row in PEOPLE] for ms in ([0, 1], [1, 2], [0, 1, 2])]
    by_hand = [0.7 * first + 0.3 * second for first, second in best]

    assert expectation(scores) == pytest.approx(by_hand)
    assert by_hand == pytest.approx([0.65, 0.3, 0.65])


@pytest.mark.parametrize("more", [1.0, 1.7], ids=["this sample", "a larger sample"])
def test_variances_and_covariances_are_unbiased(more: float) -> None:
    """The mean of the estimates is the exact covariance over all samples, also of two systems."""
    estimated = expectation(lambda drawn: label_covariance(groups(drawn), LEFT, RIGHT, more))
    exact = exact_covariance(np.minimum(1, more * PROBABILITY))

    assert (abs(exact) > 1e-4).all()
    assert estimated == pytest.approx(exact)


def whole_entries(drawn: Sequence[int], weighting: Weighting, probability: Floats = ENTRIES) -> PairGroups:
    people = np.where(np.array(drawn, dtype=bool)[:, None], PEOPLE, np.nan)
    rows = np.repeat(probability[:, None], 3, axis=1)
    pairs = RatedPairs(JUDGE.astype(float), people, rows, MEMBERS[:, 0], [], 0)
    return groups_of(pairs, weighting, whole_entries=True)


@pytest.mark.parametrize("by_pair", [False, True])
def test_samples_of_whole_entries_are_unbiased(by_pair: bool) -> None:
    """Over the four samples of two entries: scores, covariances, and covariances of a larger sample."""
    weighting = Weighting((2, 1), (0.5, 0.5), (0.7, 0.3), by_pair)
    draws = list(product((0, 1), repeat=2))

    def mean(value: Callable[[Sequence[int]], Floats], probability: Floats = ENTRIES) -> Floats:
        chances = [np.where(drawn, probability, 1 - probability).prod() for drawn in draws]
        return np.array(sum(p * value(drawn) for p, drawn in zip(chances, draws, strict=True)))

    def scores_of(drawn: Sequence[int], probability: Floats = ENTRIES) -> Floats:
        pairs = whole_entries(drawn, weighting, probability)
        return group_scores(pairs, pairs.corrected)

    def exact(probability: Floats) -> Floats:
        center = mean(lambda drawn: scores_of(drawn, probability), probability)

        def of_draw(drawn: Sequence[int]) -> Floats:
            distance = scores_of(drawn, probability) - center
            return np.array(distance[LEFT] * distance[RIGHT])

        return mean(of_draw, probability)

    value = {0: 0.0, 1: 0.5, 2: 1.0}
    passages = [[0, 1], [1, 2], [0, 1, 2]]
    of_entry = [
        [(np.mean if by_pair else max)([value[row[p]] for p in members]) for row in PEOPLE]
        for members in passages
    ]

    assert mean(scores_of) == pytest.approx([0.7 * first + 0.3 * second for first, second in of_entry])

    def estimate(more: float) -> Callable[[Sequence[int]], Floats]:
        return lambda drawn: label_covariance(whole_entries(drawn, weighting), LEFT, RIGHT, more)

    for more in (1.0, 1.4):
        assert mean(estimate(more)) == pytest.approx(exact(np.minimum(1, more * ENTRIES)))
    assert (abs(exact(ENTRIES)) > 0.001).all()


def test_a_sample_of_all_entries_gives_the_scores_of_people() -> None:
    weighting = Weighting((2,), (1.0,), (0.5, 0.5))
    pairs = whole_entries((1, 1), weighting, np.ones(2))

    assert group_scores(pairs, pairs.corrected).tolist() == [0.5, 0.5, 0.5]
    assert label_covariance(pairs, LEFT, RIGHT).tolist() == [0.0] * 5


def test_groups_without_errors_do_not_change_variances() -> None:
    drawn = np.array([[1, 0, 0], [0, 0, 0]])
    pairs = groups(drawn)

    assert pairs.disputed().judged.shape == (2, 1, 3)
    assert label_covariance(pairs.disputed(), LEFT, RIGHT) == pytest.approx(
        label_covariance(pairs, LEFT, RIGHT)
    )


def test_a_mean_of_labels_by_hand() -> None:
    """As in docs/concepts/uncertainty.md: the judge gives 3, 2, 0, 0; two of four passages are drawn."""
    judged = np.array([3.0, 2, 0, 0])[None, :, None]
    errors = np.array([-1.0, 0, 0, 0])[None, :, None]
    pairs = PairGroups(
        judged, errors, np.full((4, 1), 0.5), np.ones((1, 4, 1), bool), np.full((1, 4), 0.25), np.ones(1)
    )
    only = np.array([0])

    assert group_scores(pairs, pairs.judged)[0] == 1.25
    assert group_scores(pairs, pairs.corrected)[0] == 0.75  # (3 - 1/0.5 + 2) / 4
    # (1/4)² × (-1)² × (1 - 0.5) / 0.5²
    assert label_covariance(pairs, only, only)[0] == 0.125


def test_leading_axes_are_worlds() -> None:
    """A stack of queries gives the results of each query."""
    draws = [np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0, 1, 1], [1, 1, 0]])]
    alone = [groups(drawn) for drawn in draws]
    stacked = PairGroups(
        np.array([pairs.judged for pairs in alone]), np.array([pairs.errors for pairs in alone]),
        np.array([PROBABILITY] * 2), np.array([MEMBERS] * 2), np.array([WEIGHTS] * 2), LENIENT,
    )  # fmt: skip

    assert group_scores(stacked, stacked.corrected) == pytest.approx(
        np.array([group_scores(pairs, pairs.corrected) for pairs in alone])
    )
    assert label_covariance(stacked, LEFT, RIGHT) == pytest.approx(
        np.array([label_covariance(pairs, LEFT, RIGHT) for pairs in alone])
    )
    together, first = evidence(stacked), evidence(alone[0])
    assert all((left[0] == right).all() for left, right in zip(together, first, strict=True))


def test_the_rule_of_three() -> None:
    """At 95 %, (1 - π)ⁿ = 0.05: n is nearly 3 / π (Hanley and Lippman-Hand, 1983)."""
    assert most_errors(0.01, 0.95) == pytest.approx(3 / 0.01, rel=0.01)
    assert isclose((1 - 0.3) ** most_errors(0.3, 0.95), 0.05)
    assert most_errors(1.0, 0.95) == 0


def test_without_revealed_errors_the_half_width_is_the_bound() -> None:
    found = label_half_width(np.zeros(3), 0.2, 0.95)

    assert found.by_rule
    assert found.value == 0.2
    assert label_half_width(np.array([]), 0.2, 0.95).by_rule


@pytest.mark.parametrize(("queries", "quantile"), [(1, 12.706), (10, 2.228), (1000, 1.962)])
def test_the_quantile_of_labels_depends_on_how_many_queries_contribute(queries: int, quantile: float) -> None:
    """One query has 1 degree of freedom, 1,000 equal ones nearly a normal distribution (tables of t)."""
    assert label_quantile(np.full(queries, 0.3), 0.95) == pytest.approx(quantile, abs=0.001)


def test_half_width_over_queries() -> None:
    """Mean 0.5, standard error 0.1 / √3 and t = 4.303 for 2 degrees of freedom (tables of t)."""
    assert query_half_width(np.array([0.4, 0.5, 0.6]), 0.95) == pytest.approx(4.3027 * 0.1 / 3**0.5, rel=1e-4)
    assert query_half_width(np.array([0.4]), 0.95) is None


def with_labels_that_agree(judged: Sequence[float]) -> list[PairGroups]:
    """Queries with a passage of each of two systems; the judge gives the first these scores, the second .1.

    Half of all pairs were drawn, and people agree with the judge.
    """
    even, own = np.full((2, 1), 0.5), np.eye(2)
    return [
        PairGroups(
            np.array([[[score], [0.1]]]), np.zeros((1, 2, 1)), even, own[..., None] > 0, own, np.ones(1),
            labelled=even > 0,
        )
        for score in judged
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("judged", "intervals", "exists"),
    [
        ([0.3, 0.1 + 0.2], "queries", (False, False)),
        ([0.3, 0.1 + 0.2], "labels", (True, True)),
        ([0.3, 0.5], "queries", (True, False)),
    ],
    ids=["equal but for rounding", "equal, over labels", "a spread of the first system"],
)
def test_equal_scores_say_nothing_of_other_queries(
    judged: list[float], intervals: Source, exists: tuple[bool, bool]
) -> None:
    """Nor do sums of equal scores with rounding errors, as .1 of the second system on eight queries."""
    found = estimates(
        with_labels_that_agree(judged * 4), Sampling(intervals, 0.95, [0.5] * 16, lowest=0.5), 0
    )
    assert tuple(estimate.corrected.low is not None for estimate in found) == exists


@pytest.mark.parametrize(("of_second", "bounded"), [(0, True), (4, True), (5, False)])
def test_a_difference_needs_contradictions_of_both_systems(of_second: int, bounded: bool) -> None:
    """Each system has twenty passages of its own, all labelled; people contradict six of the first."""
    errors = np.zeros((1, 40, 1))
    errors[0, :6] = errors[0, 20 : 20 + of_second] = -1
    own = np.repeat(np.eye(2), 20, axis=1)
    half = np.full((40, 1), 0.5)
    pairs = PairGroups(
        np.ones((1, 40, 1)), errors, half, own[..., None] > 0, own / 20, np.ones(1), labelled=half > 0
    )
    first, second = estimates([pairs], Sampling("labels", 0.95, [0.5] * 40, lowest=0.5), 1)

    assert not first.corrected.bounded
    assert second.corrected.bounded == bounded
    assert first.difference is not None
    assert first.difference.bounded == bounded


def test_labels_that_halve_an_interval_of_labels() -> None:
    """π = 0.1: (1 - π') / π' is a quarter of 9 for π' = 4 / 13, so 100 labels become 307.7."""
    factors = np.geomspace(1, 10, 200).tolist()
    variances = [(1 - min(1, 0.1 * factor)) / min(1, 0.1 * factor) for factor in factors]
    found = more_labels(variances, factors, 0.0, 1.96, np.full(100, 0.1))

    assert found.labels == pytest.approx(100 * 40 / 13 - 100, abs=1)
    assert found.limit == 0


def test_no_number_of_labels_halves_an_interval_that_queries_make_wide() -> None:
    """Variance 1 of the labels and 1 of the queries: a quarter of 2 is less than 1."""
    assert more_labels([1.0, 0.0], [1.0, 10.0], 1.0, 2.0, np.full(100, 0.1)) == MoreLabels(None, 2.0)


def test_evidence_by_hand() -> None:
    """Two refuted passages of an entry with π = 1/2, one of them drawn, and a missed passage elsewhere.

    The product over both passages is 0 until both are drawn, so no group is revealed. The missed passage
    with π = 1/4 stands for three others.
    """
    judged = np.array([[1.0, 1.0], [0.0, 0.0]])[None]
    errors = np.array([[-1.0, 0.0], [1.0, 0.0]])[None]
    probability = np.array([[0.5, 0.5], [0.25, 0.25]])
    both, first = [[True, True]], [[True, False]]
    pairs = PairGroups(judged, errors, probability, np.array([both, first]), np.full((2, 2), 0.5), np.ones(1))
    found = evidence(pairs)

    assert found.refuted.tolist() == [1, 1]
    assert found.revealed.tolist() == [0, 1]
    assert found.uncovered.tolist() == [1, 1]
    assert found.hidden.tolist() == [3, 3]
    assert found.too_thin.all()


@pytest.mark.parametrize(
    ("counts", "thin"),
    [((0, 0, 10, 0), False), ((50, 9, 10, 0), True), ((50, 10, 10, 5), False), ((0, 0, 10, 5.1), True)],
)
def test_limits_of_evidence(counts: tuple[float, ...], thin: bool) -> None:
    assert Evidence(*(np.array([count], dtype=float) for count in counts)).too_thin.tolist() == [thin]


def test_joined_queries_have_the_sum_of_the_variances() -> None:
    """Also if their groups have different numbers of members."""
    first = groups(np.array([[1, 0, 1], [0, 1, 0]]))
    short = PairGroups(
        np.ones((2, 1, 1)), -np.ones((2, 1, 1)), np.full((1, 1), 0.4), np.ones((3, 1, 1), bool),
        np.ones((3, 1)), LENIENT,
    )  # fmt: skip

    assert label_covariance(joined([first, short]), LEFT, RIGHT) == pytest.approx(
        label_covariance(first, LEFT, RIGHT) + label_covariance(short, LEFT, RIGHT)
    )
