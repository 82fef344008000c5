"""Made-up rubrics: their scores are those of the product's formula, with mistakes in every query."""

from __future__ import annotations

import numpy as np

from scripts.bench.rubrics import coverage, draw, true_means


def test_scores_lie_in_the_range_of_the_bank_and_follow_skill() -> None:
    drawn = draw(np.random.default_rng(1), np.array([-2.0, 2.0]), 200)
    rubric, _, clipped = drawn.scores
    assert drawn.lowest[0] < rubric.min() < 0 <= clipped.min()
    assert (rubric.mean(axis=1)[1] - rubric.mean(axis=1)[0]) > 0.5


def test_intervals_contain_the_mean() -> None:
    inside, width = coverage(20, 15, true_means(2_000))
    assert inside.min() >= 0.8
    assert (width > 0.1).all()
