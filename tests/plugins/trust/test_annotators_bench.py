"""The alternative annotator test rejects falsely as rarely as it promises."""

from __future__ import annotations

import pytest

from scripts.bench.annotators import WINS, false_rejections


@pytest.mark.parametrize("wins", WINS)
def test_false_rejections_of_few_items(wins: float) -> None:
    assert all(false_rejections(items, 0.2, wins) <= 0.06 for items in (5, 10))
