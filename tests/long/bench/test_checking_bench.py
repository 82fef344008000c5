"""Equal systems are rarely called better, however a person checks the judge's grades."""

from __future__ import annotations

import pytest

from scripts.bench.checking import JUDGES, WAYS, false_claims


@pytest.mark.parametrize("systems", [2, 5])
@pytest.mark.parametrize("way", WAYS)
def test_false_claims(way: str, systems: int) -> None:
    """At most 5 %; simulation of 200 worlds adds up to 3 %."""
    rests, _ = false_claims(way, JUDGES["prefers the first"], systems, samples=200)
    assert rests <= 0.08
