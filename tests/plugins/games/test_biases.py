"""Biases of judges: known small numbers, and properties of counts, intervals and tests."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from exam_pp.games import Game
from exam_pp.metrics.significance import paired_test
from exam_pp.plugins.games.biases import Orders, Tally, biases, orders_of, share_of, sign_flip_test, tally

SYSTEMS = ("x", "y", "z")
NAMES = st.permutations(SYSTEMS).map(lambda names: (names[0], names[1]))
LENGTHS = st.one_of(st.none(), st.integers(0, 40))
DECIDED = st.sampled_from(["reply", "person", "empty answer", "same text", "ratings", None])
WINNERS = st.sampled_from(["A", "B", "C", None])


@st.composite
def games(draw: st.DrawFn) -> Game:
    system_a, system_b = draw(NAMES)
    return Game(
        system_a=system_a, system_b=system_b, winner=draw(WINNERS), decided_by=draw(DECIDED),
        words_a=draw(LENGTHS), words_b=draw(LENGTHS),
    )  # fmt: skip


QUERIES = st.lists(st.lists(games(), max_size=5), min_size=1, max_size=4)
TALLIES = st.lists(st.builds(Tally, st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9)


def game(names: str, winner: str | None, words: tuple[int, int] | None = None, **keys: object) -> Game:
    """A game of two systems with names of one letter."""
    lengths = {} if words is None else {"words_a": words[0], "words_b": words[1]}
    return Game.model_validate(
        {"system_a": names[0], "system_b": names[1], "winner": winner, **lengths, **keys}
    )


def test_counts_by_hand() -> None:
    """Seven games of one query, one of each kind."""
    counts = tally(
        [
            game("xy", "A", (100, 90)),  # the longer answer, by 10 %
            game("xz", "B", (100, 90)),  # the shorter one
            game("yz", "B", (20, 80)),  # the longer one, by 75 %
            game("xy", "A", (50, 50)),  # equal lengths
            game("xy", "C", (10, 20)),
            game("xy", None),
            game("xy", "A", (30, 0), decided_by="empty answer"),
        ],
        is_own=lambda system: system == "z",
    )
    assert (counts.games, counts.ungraded, counts.by_rule, counts.ties) == (7, 1, 1, 1)
    assert counts.place_a == (2, 2)
    assert counts.longer == [(1, 1), (0, 0), (0, 0), (1, 0)]
    assert counts.own_family == (2, 0)


def test_games_from_ratings_have_no_places() -> None:
    counts = tally([game("xy", "A", (2, 1), decided_by="ratings")], is_own=lambda system: system == "x")
    assert (counts.place_a, counts.longer[2], counts.own_family) == ((0, 0), (1, 0), (1, 0))


def test_a_game_inside_the_family_does_not_count() -> None:
    counts = tally([game("xy", "A"), game("yx", "B")], is_own=lambda system: system in "xy")
    assert counts.own_family == (0, 0)


@pytest.mark.parametrize(
    ("games", "expected"),
    [
        *(([game("xy", first, order=1), game("yx", second, order=2)], orders)
          for first, second, orders in (
              ("A", "B", Orders(same=1)), ("B", "A", Orders(same=1)), ("C", "C", Orders(same=1)),
              ("A", "A", Orders(first=1)), ("B", "B", Orders(second=1)),
              ("A", "C", Orders(one_tie=1)), ("C", "B", Orders(one_tie=1)),
          )),
        # Games of one order are no pair, repeats are other answers, a third game of a pair has no partner.
        ([game("xy", "A"), game("xy", "A"), game("xz", "A")], Orders()),
        ([game("xy", "A"), game("yx", "A", repeat_a=2)], Orders()),
        ([game("xy", "A"), game("yx", "A"), game("yx", "B")], Orders(first=1)),
    ],
)  # fmt: skip
def test_verdicts_in_both_orders(games: list[Game], expected: Orders) -> None:
    assert orders_of(games) == expected


@pytest.mark.parametrize(
    ("tallies", "expected", "interval"),
    [
        ([Tally(2, 0)] * 5, (10, 10, 1.0, 0.0625), (0.025**0.2, 1.0)),
        ([Tally(3, 1), Tally(0, 0)], (3, 4, 0.75, 1.0), (0.025 * 0.75, 1 - 0.025 * 0.25)),
    ],
)
def test_shares_by_hand(
    tallies: list[Tally], expected: tuple[object, ...], interval: tuple[float, float]
) -> None:
    """The lower end of 5 of 5 by Clopper and Pearson is 0.025^(1/5)."""
    found = share_of(tallies)
    assert (found.count, found.total, found.share, found.p_value) == expected
    assert found.interval == pytest.approx(interval)


def test_without_games_there_is_no_share() -> None:
    assert share_of([]) == share_of([Tally()])
    assert share_of([]).share is None


@given(TALLIES)
def test_the_test_equals_the_randomisation_test(tallies: Sequence[Tally]) -> None:
    """At most nine queries, so that both are exact."""
    won, lost = zip(*tallies, strict=True)
    assert sign_flip_test(tallies) == pytest.approx(paired_test(won, lost))


@given(st.integers(0, 30), st.integers(0, 30))
def test_with_one_game_per_query_it_is_the_sign_test(won: int, lost: int) -> None:
    expected = binomtest(won, won + lost).pvalue if won + lost else 1.0
    assert sign_flip_test([Tally(1, 0)] * won + [Tally(0, 1)] * lost) == pytest.approx(expected)


@given(QUERIES)
def test_swapping_the_places(queries: list[list[Game]]) -> None:
    """The share of A becomes its complement; length, family and verdicts in both orders stay."""
    other = {"A": "B", "B": "A", "C": "C", None: None}
    swapped = [
        [
            Game(
                system_a=g.system_b, system_b=g.system_a, words_a=g.words_b, words_b=g.words_a,
                winner=other[g.winner], decided_by=g.decided_by,
            )
            for g in query
        ]
        for query in queries
    ]  # fmt: skip
    before, after = (
        biases([tally(query, is_own=lambda system: system == "x") for query in some])
        for some in (queries, swapped)
    )
    assert before.place_a.count == after.place_a.total - after.place_a.count
    assert before.place_a.p_value == after.place_a.p_value
    if before.place_a.interval is not None and after.place_a.interval is not None:
        mirrored = [1 - after.place_a.interval.high, 1 - after.place_a.interval.low]
        assert np.allclose(before.place_a.interval, mirrored)
    assert (before.longer, before.longer_by_difference) == (after.longer, after.longer_by_difference)
    assert before.own_family == after.own_family
    first, second = before.orders.second, before.orders.first
    assert after.orders == before.orders._replace(first=first, second=second)


@given(QUERIES)
def test_every_game_is_counted_once(queries: list[list[Game]]) -> None:
    found = biases([tally(query) for query in queries])
    assert found.games == sum(map(len, queries))
    ratings = sum(g.decided_by == "ratings" and g.winner in ("A", "B") for query in queries for g in query)
    counted = (found.ungraded, found.by_rule, found.ties, found.place_a.total, ratings)
    assert sum(counted) == found.games
    assert sum(share.total for share in found.longer_by_difference) == found.longer.total
    assert sum(share.count for share in found.longer_by_difference) == found.longer.count
    assert found.flipped.count == found.reversed.count + found.orders.one_tie
    assert found.flipped.count + found.orders.same == found.flipped.total == sum(found.orders)


def test_a_judge_that_always_answers_a() -> None:
    both = [[game(f"{a}{b}", "A") for a in SYSTEMS for b in SYSTEMS if a != b] for _ in range(4)]
    found = biases([tally(query) for query in both])
    assert (found.place_a.share, found.flipped.share, found.reversed.share) == (1.0, 1.0, 1.0)
    assert found.orders == Orders(first=12)
    assert found.place_a.p_value == 0.125


def test_a_tie_in_one_order_only_counts_as_flipped_but_not_as_reversed() -> None:
    """As in the ratings, where two different verdicts of a pair make a tie."""
    found = biases([tally([game("ab", "A"), game("ba", "C"), game("cd", "A"), game("dc", "B")])])
    assert found.orders == Orders(same=1, one_tie=1)
    assert (found.flipped.share, found.reversed.share) == (0.5, 0.0)
