"""Draws of pairs, places and repeats, and the most informative pairs."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import exp
from random import Random

import numpy as np
import pytest

from exam_pp.games import Game, Winner
from exam_pp.phases.tournaments.pairs import Pair, PairSelector, drawn_pairs, planned_games

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


def game(pair: Pair, winner: Winner | None) -> Game:
    return Game(system_a=pair[0], system_b=pair[1], winner=winner)


def test_strengths_of_two_systems() -> None:
    """A has 3 wins and B has 1; each has two ties with a system of strength 1.

    By symmetry the strengths are r and 1/r. The likelihood is maximal if the expected number of wins,
    4r/(r + 1/r) + 2r/(r + 1), is 4.
    """
    selector = PairSelector(["a", "b"])
    for winner in ("A", "A", "A", "B"):
        selector.add(game(("a", "b"), winner))
    r, other = selector.strengths()
    assert r * other == pytest.approx(1, abs=1e-6)
    assert 4 * r / (r + 1 / r) + 2 * r / (r + 1) == pytest.approx(4)


def test_new_systems_and_close_pairs_come_first() -> None:
    selector = PairSelector(["best", "good", "new", "worst"])
    for _ in range(4):
        selector.add(game(("best", "good"), "C"))
        selector.add(game(("best", "worst"), "A"))
        selector.add(game(("good", "worst"), "A"))
    candidates = dict.fromkeys(combinations(selector.systems, 2), 10)
    assert all("new" in pair for pair in selector.next_pairs(candidates, 6))
    candidates = {pair: 10 for pair in candidates if "new" not in pair}
    assert selector.next_pairs(candidates, 1) == [("best", "good")]


def test_ungraded_games_are_not_repeated_first() -> None:
    selector = PairSelector(["a", "b", "c"])
    selector.add(game(("a", "b"), None))
    assert ("a", "b") not in selector.next_pairs(dict.fromkeys(combinations("abc", 2), 5), 2)


TRUTH = [exp(number) for number in range(10)]
"""Strengths of ten systems: a system beats the next one in 73 % of the games that are no tie."""


def agreement(adaptive: bool, seed: int, budgets: list[int]) -> list[float]:
    """Kendall's tau between the true order and that of the strengths, after each number of games."""
    random = Random(seed)
    truth = random.sample(TRUTH, len(TRUTH))
    names = [f"s{number}" for number in range(len(truth))]
    selector = PairSelector(names)
    pairs = list(combinations(names, 2))
    candidates = dict.fromkeys(pairs, max(budgets))
    result = []
    for number in range(1, max(budgets) + 1):
        if adaptive:
            if number % len(names) == 1:
                chosen = selector.next_pairs(candidates, len(names))
            pair = chosen[(number - 1) % len(names)]
        else:
            pair = random.choice(pairs)
        a, b = (truth[int(name[1:])] for name in pair)
        winner: Winner = "C" if random.random() < 0.2 else "A" if random.random() < a / (a + b) else "B"
        selector.add(game(pair, winner))
        if number in budgets:
            order = selector.strengths()
            signs = [
                np.sign((order[i] - order[j]) * (truth[i] - truth[j]))
                for i, j in combinations(range(len(truth)), 2)
            ]
            result.append(float(np.mean(signs)))
    return result


def test_adaptive_games_need_half_of_the_games() -> None:
    """100 games of informative pairs order ten systems as well as 200 games of random pairs."""
    adaptive = np.mean([agreement(True, seed, [100])[0] for seed in range(12)])
    once, twice = np.mean([agreement(False, seed, [100, 200]) for seed in range(12)], axis=0)
    assert adaptive > once + 0.02
    assert adaptive >= twice - 0.01
