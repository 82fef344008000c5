"""One-sided bounds of a mean drop: reference values, the rule of three, error rates and queries needed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from exam_pp.metrics.noninferiority import drop_bounds, fewest_queries, queries_for_drop, unseen_share
from exam_pp.metrics.significance import queries_to_detect_range

DROPS = st.lists(st.integers(-20, 20).map(lambda value: value / 20), min_size=1, max_size=8)


def test_reference_values() -> None:
    """At 97.5 %, the two bounds are the 95 % interval of the difference."""
    drops = [0.1, -0.05, 0.2, 0, 0, 0.3, 0.1, 0.1]
    bounds, wider = drop_bounds(drops, 0.02), drop_bounds(drops, 0.02, confidence=0.975)
    found = (bounds.high, bounds.p_above, bounds.p_within, wider.low, wider.high)
    assert found == pytest.approx((0.381436, 0.593166, 0.999260, -0.313531, 0.432775), abs=1e-6)


@pytest.mark.parametrize(("queries", "high"), [(148, 0.020038), (149, 0.019905)])
def test_unchanged_scores_follow_the_rule_of_three(queries: int, high: float) -> None:
    bounds = drop_bounds([0.0] * queries, 0.02)

    assert bounds.high == pytest.approx(high, abs=1e-6)
    assert -bounds.low == pytest.approx(bounds.high)
    assert (bounds.p_within <= 0.05) is (queries == 149)
    assert unseen_share(queries) == pytest.approx(bounds.high)


def test_broken_queries_have_the_bounds_of_clopper_and_pearson() -> None:
    """The upper bound of a share, here 3 of 20."""
    bounds = drop_bounds([1.0] * 3 + [0.0] * 17, 0.02)
    assert bounds.high == pytest.approx(float(beta.ppf(0.95, 4, 17)))


@given(DROPS, st.sampled_from([0.0, 0.02, 0.25]), st.sampled_from([0.8, 0.95]))
def test_bounds_agree_with_p_values(drops: list[float], limit: float, confidence: float) -> None:
    bounds = drop_bounds(drops, limit, confidence=confidence)

    assert bounds.low <= np.mean(drops) <= bounds.high
    assert (bounds.high <= limit) == (bounds.p_within <= 1 - confidence)
    assert (bounds.low > limit) == (bounds.p_above < 1 - confidence)


@given(DROPS)
def test_rises_are_mirrored_drops(drops: list[float]) -> None:
    bounds, mirrored = drop_bounds(drops, 0.02), drop_bounds([-drop for drop in drops], -0.02)

    assert bounds.low == pytest.approx(-mirrored.high)
    assert bounds.p_above == pytest.approx(mirrored.p_within)


@given(DROPS, st.sampled_from([0.25, 3.0]))
def test_the_worst_drop_is_a_unit(drops: list[float], worst: float) -> None:
    one, scaled = drop_bounds(drops, 0.02), drop_bounds([drop * worst for drop in drops], 0.02 * worst, worst)

    assert (scaled.low, scaled.high) == pytest.approx((one.low * worst, one.high * worst))
    assert (scaled.p_above, scaled.p_within) == pytest.approx((one.p_above, one.p_within), abs=1e-7)


@pytest.mark.parametrize("queries", [2, 5, 10, 20, 50])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_change_that_breaks_a_tenth_of_the_queries_never_passes(queries: int, noise: float) -> None:
    """A t test takes the queries without a difference for knowledge: it passes 81 % with two queries."""
    rng = np.random.default_rng([queries, 10])
    broken = rng.random((100, queries)) < 0.1
    drops = np.where(broken, 1.0, rng.normal(0, noise, broken.shape))

    assert bool((~broken.any(axis=1)).any()) is (queries < 50)
    assert min(drop_bounds(row, 0.02).p_within for row in np.unique(drops, axis=0)) > 0.05


def test_a_drop_at_the_limit_rarely_passes_or_fails() -> None:
    """2 % break, which is the limit: 200 runs with 150 queries; 5 % pass at most, up to 4 standard errors."""
    counts = np.random.default_rng(150).binomial(150, 0.02, 200)
    bounds = {
        count: drop_bounds([1.0] * count + [0.0] * (150 - count), 0.02) for count in set(counts.tolist())
    }

    assert sum(bounds[count].p_within <= 0.05 for count in counts.tolist()) <= 22
    assert sum(bounds[count].p_above < 0.05 for count in counts.tolist()) <= 22


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (0.01, (299, 149, 74)), (0.02, (149, 74, 36)), (0.05, (59, 29, 14)), (0.1, (29, 14, 6)),
        (0.2, (14, 6, 2)), (1, (1, 1, 1)), (0, (None, None, None)), (1e-300, (None, None, None)),
    ],
)  # fmt: skip
def test_fewest_queries(limit: float, expected: tuple[int | None, ...]) -> None:
    assert tuple(fewest_queries(limit, worst) for worst in (1, 0.5, 0.25)) == expected


def test_queries_for_a_drop_are_a_sum() -> None:
    drops = np.random.default_rng(1).normal(0, 0.1, 40)
    spread = queries_to_detect_range(0.02, drops, tail=0.05)

    assert spread is not None
    assert spread.high is not None
    assert queries_for_drop(drops, 0.02) == (149 + spread.queries, 149 + spread.low, 149 + spread.high)
    assert queries_for_drop([0.0, 1e-17], 0.02) == (149, 149, 149)
    assert queries_for_drop(drops, 0) is None
    assert (queries_for_drop([0.1, -0.1, 0, 0], 0.02) or ())[2:] == (None,)


def test_refused_drops() -> None:
    with pytest.raises(ValueError, match=r"above 0\.25"):
        drop_bounds([0.3], 0.02, 0.25)
