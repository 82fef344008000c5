"""Equal systems are rarely called better, however a person checks the judge's grades."""

from __future__ import annotations

import pytest

from scripts.bench.checking import JUDGES, WAYS, false_claims

BIASED = JUDGES["prefers the first"]


def test_correcting_one_system_claims_nothing() -> None:
    """Corrected scores themselves would show a difference in a third of all worlds."""
    rests, tested = false_claims("one system only", BIASED, systems=2, samples=40)
    assert rests == 0
    assert tested > 0.15


@pytest.mark.parametrize("way", WAYS)
def test_few_worlds(way: str) -> None:
    rests, _ = false_claims(way, BIASED, systems=2, samples=15, shape=(12, 2, 3))
    assert rests <= 0.2
