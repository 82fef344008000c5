"""The alternative annotator test rejects falsely as rarely as it promises."""

from __future__ import annotations

import pytest

from scripts.bench.annotators import WINS, false_rejections


@pytest.mark.parametrize("wins", WINS)
@pytest.mark.parametrize("epsilon", [0.1, 0.15, 0.2])
def test_false_rejections(wins: float, epsilon: float) -> None:
    """Around 30 items, where the authors change the test, and with the most items."""
    assert all(false_rejections(items, epsilon, wins) <= 0.06 for items in (20, 29, 30, 40))
