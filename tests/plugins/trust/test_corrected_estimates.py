"""Corrected scores: exact expectations over all draws, intervals, bounds, and numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import isclose

import numpy as np
import pytest

from exam_pp.metrics.entry_values import Bools, Floats
from exam_pp.plugins.trust.corrected_estimates import (
    Interval,
    Sampling,
    Source,
    estimates,
    predictions,
    rating_cells,
)
from exam_pp.plugins.trust.corrected_pairs import (
    MoreLabels,
    PairGroups,
    RatedPairs,
    Weighting,
    group_scores,
    groups_of,
    label_covariance,
    label_spread,
    more_labels,
    most_errors,
    query_spread,
    too_thin,
)

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
COMPARED: list[tuple[int, int | None]] = [(0, None), (1, None), (2, None), (0, 1), (2, 1)]
"""A system alone, or with the one to which it is compared."""
LEFT, RIGHT = np.array([0, 1, 2, 0, 1]), np.array([0, 1, 2, 1, 2])


def levels(ratings: Floats) -> Floats:
    return np.array([ratings >= 2, ratings >= 1], dtype=float)


def groups(drawn: Floats, probability: Floats = PROBABILITY) -> PairGroups:
    errors = (levels(PEOPLE) - levels(JUDGE)) * drawn
    return PairGroups(levels(JUDGE), errors, probability, MEMBERS, WEIGHTS, LENIENT, drawn > 0)


def total(parts: Floats) -> Floats:
    """The sum over groups."""
    return np.asarray(parts.sum(axis=-1))


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
    return total(group_scores(pairs, pairs.corrected))


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
    estimated = expectation(lambda drawn: total(label_covariance(groups(drawn), LEFT, RIGHT, more)))
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
    """Over the four samples of two entries: scores, variances, also of differences and of larger samples."""
    weighting = Weighting((2, 1), (0.5, 0.5), (0.7, 0.3), by_pair)
    draws = list(product((0, 1), repeat=2))

    def mean(value: Callable[[Sequence[int]], Floats], probability: Floats = ENTRIES) -> Floats:
        chances = [np.where(drawn, probability, 1 - probability).prod() for drawn in draws]
        return np.array(sum(p * value(drawn) for p, drawn in zip(chances, draws, strict=True)))

    def scores_of(drawn: Sequence[int], probability: Floats = ENTRIES) -> Floats:
        pairs = whole_entries(drawn, weighting, probability)
        return total(group_scores(pairs, pairs.corrected))

    def exact(probability: Floats) -> Floats:
        center = mean(lambda drawn: scores_of(drawn, probability), probability)

        def of_draw(drawn: Sequence[int]) -> Floats:
            distance = scores_of(drawn, probability) - center
            against = [0 if base is None else distance[base] for _, base in COMPARED]
            return np.array((distance[[row for row, _ in COMPARED]] - against) ** 2)

        return mean(of_draw, probability)

    value = {0: 0.0, 1: 0.5, 2: 1.0}
    passages = [[0, 1], [1, 2], [0, 1, 2]]
    of_entry = [
        [(np.mean if by_pair else max)([value[row[p]] for p in members]) for row in PEOPLE]
        for members in passages
    ]

    assert mean(scores_of) == pytest.approx([0.7 * first + 0.3 * second for first, second in of_entry])

    def estimate(more: float) -> Callable[[Sequence[int]], Floats]:
        def of_draw(drawn: Sequence[int]) -> Floats:
            pairs = whole_entries(drawn, weighting)
            compared = [pairs.of_systems(*systems) for systems in COMPARED]
            only = np.array([0])
            return np.array([total(label_covariance(of, only, only, more))[0] for of in compared])

        return of_draw

    for more in (1.0, 1.4):
        assert mean(estimate(more)) == pytest.approx(exact(np.minimum(1, more * ENTRIES)))
    assert (abs(exact(ENTRIES)) > 0.001).all()


def test_a_sample_of_all_entries_gives_the_scores_of_people() -> None:
    weighting = Weighting((2,), (1.0,), (0.5, 0.5))
    pairs = whole_entries((1, 1), weighting, np.ones(2))

    assert total(group_scores(pairs, pairs.corrected)).tolist() == [0.5, 0.5, 0.5]
    assert not label_covariance(pairs, LEFT, LEFT).any()


def test_a_mean_of_labels_by_hand() -> None:
    """The judge gives 3, 2, 0, 0; two of four passages are drawn."""
    judged = np.array([3.0, 2, 0, 0])[None, :, None]
    errors = np.array([-1.0, 0, 0, 0])[None, :, None]
    pairs = PairGroups(
        judged, errors, np.full((4, 1), 0.5), np.ones((1, 4, 1), bool), np.full((1, 4), 0.25), np.ones(1),
        np.array([[True], [False], [False], [True]]),
    )  # fmt: skip
    only = np.array([0])

    assert total(group_scores(pairs, pairs.judged))[0] == 1.25
    assert total(group_scores(pairs, pairs.corrected))[0] == 0.75  # (3 - 1/0.5 + 2) / 4
    # (1/4)² × (-1)² × (1 - 0.5) / 0.5²
    assert total(label_covariance(pairs, only, only))[0] == 0.125


def test_leading_axes_are_worlds() -> None:
    """A stack of queries gives the results of each query."""
    draws = [np.array([[1, 0, 1], [0, 1, 0]]), np.array([[0, 1, 1], [1, 1, 0]])]
    alone = [groups(drawn) for drawn in draws]
    stacked = PairGroups(
        np.array([pairs.judged for pairs in alone]), np.array([pairs.errors for pairs in alone]),
        np.array([PROBABILITY] * 2), np.array([MEMBERS] * 2), np.array([WEIGHTS] * 2), LENIENT,
        np.array(draws) > 0,
    )  # fmt: skip

    assert group_scores(stacked, stacked.corrected) == pytest.approx(
        np.array([group_scores(pairs, pairs.corrected) for pairs in alone])
    )
    assert label_covariance(stacked, LEFT, RIGHT) == pytest.approx(
        np.array([label_covariance(pairs, LEFT, RIGHT) for pairs in alone])
    )


def test_the_rule_of_three() -> None:
    """At 95 %, (1 - π)ⁿ = 0.05: n is nearly 3 / π (Hanley and Lippman-Hand, 1983)."""
    assert most_errors(0.01, 0.95) == pytest.approx(3 / 0.01, rel=0.01)
    assert isclose((1 - 0.3) ** most_errors(0.3, 0.95), 0.05)
    assert most_errors(1.0, 0.95) == 0


def test_without_errors_the_labels_have_no_spread() -> None:
    assert label_spread(np.zeros(3), 0.95).half_width == label_spread(np.array([]), 0.95).half_width == 0


@pytest.mark.parametrize(("queries", "quantile"), [(1, 12.706), (10, 2.228), (1000, 1.962)])
def test_the_quantile_of_labels_depends_on_how_many_queries_contribute(queries: int, quantile: float) -> None:
    """One query has 1 degree of freedom, 1,000 equal ones nearly a normal distribution (tables of t)."""
    assert label_spread(np.full(queries, 0.3), 0.95).quantile == pytest.approx(quantile, abs=0.001)


def test_half_width_over_queries() -> None:
    """Mean 0.5, standard error 0.1 / √3 and t = 4.303 for 2 degrees of freedom (tables of t)."""
    found = query_spread(np.array([0.4, 0.5, 0.6]), 0.95).half_width
    assert found == pytest.approx(4.3027 * 0.1 / 3**0.5, rel=1e-4)


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

    def variance(factor: float) -> Floats:
        return np.array([1 - min(1, 0.1 * factor)]) / min(1, 0.1 * factor)

    assert more_labels(variance, 0.0, 1.96, np.full(100, 0.1)) == MoreLabels(round(100 * 40 / 13 - 100), 0)


def test_no_number_of_labels_halves_an_interval_that_queries_make_wide() -> None:
    """Variance 1 of the labels and 1 of the queries: a quarter of 2 is less than 1."""
    found = more_labels(lambda factor: np.array([10 - factor]) / 9, 1.0, 2.0, np.full(100, 0.1))
    assert found == MoreLabels(None, 2.0)


@pytest.mark.parametrize(
    ("revealed", "refuted", "hidden", "thin"),
    [
        (0, 0, 0, False), (9, 0, 0, True), (10, 0, 0, False), (0, 1, 0, True), (10, 1, 5, False),
        (0, 0, 5.1, True),
    ],
)  # fmt: skip
def test_limits_of_evidence(revealed: int, refuted: int, hidden: float, thin: bool) -> None:
    """Of 21 entries with two passages, the judge covers the first eleven.

    People refute the only passage of ``revealed`` entries, and one of two passages of ``refuted``, whose
    product is 0 until both are drawn. They cover a passage that stands for ``hidden`` others.
    """
    errors, probability = np.zeros((1, 21, 2)), np.full((21, 2), 0.5)
    errors[0, :revealed, 0] = errors[0, 11 - refuted : 11, 0] = -1
    members = np.ones((1, 21, 2), bool)
    members[0, :revealed, 1] = False
    if hidden:
        errors[0, 11, 0], probability[11, 0] = 1, 1 / (1 + hidden)
    judged = np.repeat(np.arange(21) < 11, 2).reshape(1, 21, 2).astype(float)
    pairs = PairGroups(
        judged, errors, probability, members, np.full((1, 21), 1 / 21), np.ones(1), errors[0] != 0
    )
    assert too_thin(pairs).tolist() == [thin]


def of_entries(
    judged: Sequence[float], people: Sequence[float], drawn: Sequence[int], pi: float
) -> PairGroups:
    """A query with a whole entry for each value, which all count the same for a system."""
    known = np.isin(np.arange(len(judged)), drawn)[:, None]
    values, errors = np.array(judged)[None, :, None], np.subtract(people, judged)[None, :, None]
    shape = (len(judged), 1)
    return PairGroups(
        values, errors * known, np.full(shape, pi), np.ones((1, *shape), bool),
        np.full((1, len(judged)), 1 / len(judged)), np.ones(1), together=True, labelled=known,
    )  # fmt: skip


JUDGED, LABELS = [5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0, 0.0], [5, 3, 4, 2, 3, 1, 2, 0, 2, 0, 0, 1.0]
SEVEN = of_entries(JUDGED, LABELS, [0, 2, 4, 5, 8, 9, 11], 7 / 12)


def test_regression_of_seven_labels() -> None:
    """Särndal, Swensson and Wretman (1992), section 6.4: ŷ = a + b j, and the difference estimator with j."""
    known = SEVEN.labelled[:, 0]
    line = predictions(
        np.stack([np.ones(12), JUDGED], axis=-1), np.where(known, LABELS, np.nan)[:, None], np.ones(12)
    )
    regressed = SEVEN.with_values(line.reshape(1, 12, 1))
    only = np.array([0])
    expected = [(regressed, (2.234375, 0.020620748299)), (SEVEN, (2.226190476190, 0.025510204082))]

    assert line[[9, 7]].ravel() == pytest.approx([0.4375, 0.4375 + 0.8625], abs=1e-9)
    for pairs, values in expected:
        found = group_scores(pairs, pairs.corrected).sum(), label_covariance(pairs, only, only).sum()
        assert found == pytest.approx(values, abs=1e-9)


@pytest.mark.parametrize(
    ("ratings", "labels", "cells"),
    [
        ([0, 1, 2, 3], [5, 5, 5, 5], [0, 1, 2, 3]),
        ([0, 1, 2, 3], [5, 2, 3, 5], [0, 1, 1, 2]),
        ([0, 1, 2, 3], [5, 5, 4, 0], [0, 1, 1, 1]),
        ([0, 1, 2, 3], [1, 0, 2, 1], [0, 0, 0, 0]),
    ],
    ids=["enough labels", "neighbours share", "the last ones share with those below", "labels alone"],
)
def test_cells_of_ratings(ratings: list[int], labels: list[int], cells: list[int]) -> None:
    """Ten pairs for each rating, of which some have labels."""
    labelled = np.concatenate([np.arange(10) < count for count in labels])
    found = rating_cells(np.repeat(np.array(ratings, dtype=float), 10), labelled)

    assert found.argmax(axis=1)[::10].tolist() == cells
    assert (found.sum(axis=1) == 1).all()


def of_pairs(judged: Floats, people: Floats, drawn: Bools, pi: float) -> list[PairGroups]:
    """Ten queries with the same number of pairs of a system, and the judge's ratings."""
    return [
        PairGroups(
            j[None, :, None], np.where(d, h - j, 0)[None, :, None], np.full((len(j), 1), pi),
            np.ones((1, len(j), 1), bool), np.full((1, len(j)), 1 / len(j)), np.ones(1),
            labelled=d[:, None],
        )
        for j, h, d in zip(judged, people, drawn, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize("judge", ["useless", "good", "inverted"])
def test_a_judge_never_costs_labels(judge: str) -> None:
    """With the mean of cells by hand; a useless judge has the interval of the labels alone."""
    draw = np.random.default_rng(0)
    people = (draw.random((10, 100)) < 0.3).astype(np.float64)
    right = draw.random((10, 100)) < {"useless": 0.5, "good": 0.9, "inverted": 0.1}[judge]
    judged, drawn = np.where(right, people, 1 - people), draw.random((10, 100)) < 0.3
    sampling = Sampling("labels", 0.95, [0.3] * 300, lowest=0.3)
    (found,) = estimates(of_pairs(judged, people, drawn, 0.3), sampling)
    means = [people[drawn & (judged == rating)].mean() for rating in (0, 1)]

    assert found.corrected.value == pytest.approx((judged * means[1] + (1 - judged) * means[0]).mean())
    assert found.alone is not None
    assert found.alone.value == pytest.approx(people[drawn].mean())
    corrected, alone = ((of.high or 0) - (of.low or 0) for of in (found.corrected, found.alone))
    assert corrected / alone == pytest.approx({"useless": 1, "good": 0.67, "inverted": 0.67}[judge], abs=0.06)


@pytest.mark.parametrize(
    ("interval", "shown"),
    [
        (Interval(0.5, 0.4, 0.6), (0.5, 0.4, 0.6, False)),
        (Interval(0.5, -0.4, 1.2), (0.5, 0, 1, False)),
        (Interval(4.362, -4.453, 13.177), (1, 0, 1, True)),
        (Interval(-0.1, None, None), (0, None, None, True)),
        (Interval(4.362, 3, 5), (1, None, None, True)),
    ],
    ids=["inside", "ends outside", "an estimate outside", "without an interval", "all outside"],
)
def test_estimates_are_shown_within_the_range_of_the_measure(
    interval: Interval, shown: tuple[float | None, ...]
) -> None:
    found = interval.within(0, 1)
    assert (found.value, found.low, found.high, found.outside) == shown


@pytest.mark.parametrize("entries", [29, 30])
def test_differences_need_thirty_entries(entries: int) -> None:
    """Two systems, one of which people and judge score alike on every second entry."""
    known = np.arange(100)[:, None] < entries
    judged = np.stack([np.ones(100), np.arange(100) % 3 == 0], axis=-1)[None] * 1.0
    errors = np.where(known, [-0.5, 0.5] * (np.arange(100) % 2)[:, None], 0.0)[None]
    pairs = PairGroups(
        judged, errors, np.full((100, 2), 0.3), np.eye(2, dtype=bool)[:, None], np.full((2, 100), 0.01),
        np.ones(1), together=True, labelled=np.repeat(known, 2, axis=1),
    )  # fmt: skip
    first, _ = estimates([pairs], Sampling("labels", 0.95, [0.3] * entries, lowest=0.3), 1)

    assert first.corrected.low is not None
    assert first.difference is not None
    assert (first.difference.low is not None) == (entries == 30)
