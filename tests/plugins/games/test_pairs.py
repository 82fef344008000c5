"""Draws of pairs, places and repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations
from typing import Any

from exam_pp.plugins.games.compare import CompareOptions, planned_games
from exam_pp.roles import SystemOutput

SYSTEMS = [f"s{number}" for number in range(6)]
TWO = [SystemOutput("s0"), SystemOutput("s1")]


def pairs(systems: Iterable[str], query_id: str, **options: Any) -> list[tuple[str, ...]]:
    games = planned_games(map(SystemOutput, systems), query_id, CompareOptions(**options))
    return [tuple(sorted((a.system, b.system))) for a, b, _ in games]


def test_all_pairs_by_default() -> None:
    assert pairs(SYSTEMS, "q") == list(combinations(SYSTEMS, 2))
    assert pairs(SYSTEMS, "q", games_per_query=15) == list(combinations(SYSTEMS, 2)), "as in the paper"
    assert pairs(SYSTEMS, "q", games_per_query=99) == list(combinations(SYSTEMS, 2))


def test_a_draw_depends_on_query_and_seed_and_not_on_the_order_of_systems() -> None:
    five = {"games_per_query": 5}
    drawn = pairs(SYSTEMS, "q", seed=1, **five)
    assert len(set(drawn)) == 5
    assert drawn == pairs(SYSTEMS[::-1], "q", seed=1, **five)
    others = [pairs(SYSTEMS, f"q{n}", seed=1, **five) for n in range(5)] + [
        pairs(SYSTEMS, "q", seed=2, **five)
    ]
    assert all(other != drawn for other in others)


def test_every_pair_is_drawn_equally_often() -> None:
    counts = Counter(pair for n in range(3000) for pair in pairs(SYSTEMS, f"q{n}", games_per_query=5))
    assert len(counts) == 15
    assert all(900 < count < 1100 for count in counts.values())


def test_places_are_drawn() -> None:
    first = Counter(
        a.system for n in range(2000) for a, _, _ in planned_games(TWO, f"q{n}", CompareOptions())
    )
    assert 900 < first["s0"] < 1100
    assert first.total() == 2000


def test_both_orders_have_the_same_answers_in_other_places() -> None:
    outputs = [*(SystemOutput("s0", repeat) for repeat in (1, 2, 3)), SystemOutput("s1")]
    for n in range(20):
        one, two = planned_games(outputs, f"q{n}", CompareOptions(both_orders=True))
        assert (one[2], two[2]) == (1, 2)
        assert one[:2] == (two[1], two[0])
        (single,) = planned_games(outputs, f"q{n}", CompareOptions())
        assert single == (*one[:2], None)
