"""Draws of pairs, places and repeats."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from exam_pp.plugins.games.compare import drawn_pairs, planned_games

SYSTEMS = [f"s{number}" for number in range(6)]
ONCE: dict[str, list[int | None]] = {system: [None] for system in SYSTEMS}


def test_all_pairs_by_default() -> None:
    assert drawn_pairs(SYSTEMS, "q", 0) == list(combinations(SYSTEMS, 2))
    assert drawn_pairs(SYSTEMS, "q", 0, 15) == list(combinations(SYSTEMS, 2)), "15 in the paper: all of 6"
    assert drawn_pairs(SYSTEMS, "q", 0, 99) == list(combinations(SYSTEMS, 2))


def test_a_draw_depends_on_query_and_seed_and_not_on_the_order_of_systems() -> None:
    drawn = drawn_pairs(SYSTEMS, "q", 1, 5)
    assert len(set(drawn)) == 5
    assert drawn == drawn_pairs(SYSTEMS[::-1], "q", 1, 5)
    others = [drawn_pairs(SYSTEMS, f"q{n}", 1, 5) for n in range(5)] + [drawn_pairs(SYSTEMS, "q", 2, 5)]
    assert all(other != drawn for other in others)


def test_every_pair_is_drawn_equally_often() -> None:
    counts = Counter(pair for n in range(3000) for pair in drawn_pairs(SYSTEMS, f"q{n}", 0, 5))
    assert len(counts) == 15
    assert all(900 < count < 1100 for count in counts.values())


def test_places_are_drawn() -> None:
    first = Counter(
        game.a.name for n in range(2000) for game in planned_games(("s0", "s1"), f"q{n}", ONCE, 0, False)
    )
    assert 900 < first["s0"] < 1100
    assert first.total() == 2000


def test_both_orders_have_the_same_answers_in_other_places() -> None:
    repeats: dict[str, list[int | None]] = {"s0": [1, 2, 3], "s1": [None]}
    for n in range(20):
        one, two = planned_games(("s0", "s1"), f"q{n}", repeats, 0, True)
        assert (one.order, two.order) == (1, 2)
        assert (one.a, one.b) == (two.b, two.a)
        (single,) = planned_games(("s0", "s1"), f"q{n}", repeats, 0, False)
        assert (single.a, single.b, single.order) == (one.a, one.b, None)
