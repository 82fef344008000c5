"""Biases of judges: known small numbers, and properties of counts, intervals and tests."""

from __future__ import annotations

import doctest
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from exam_pp.games import Game
from exam_pp.metrics.significance import paired_test
from exam_pp.plugins.games import biases
from exam_pp.plugins.games.biases import (
    FLIPPED,
    REVERSED,
    share_of,
    shares_of,
    sign_flip_test,
    tally,
)

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
TALLIES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9)


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
    assert counts.counts == {"games": 7, "ungraded": 1, "by rule": 1, "ties": 1}
    assert counts.shares == {
        "place A": [2, 2],
        "longer answer": [2, 1],
        "own family": [2, 0],
    }


def test_games_from_ratings_have_no_places() -> None:
    counts = tally([game("xy", "A", (2, 1), decided_by="ratings")], is_own=lambda system: system == "x")
    assert counts.shares == {"longer answer": [1, 0], "own family": [1, 0]}


def test_a_game_inside_the_family_does_not_count() -> None:
    counts = tally([game("xy", "A"), game("yx", "B")], is_own=lambda system: system in "xy")
    assert "own family" not in counts.shares


@pytest.mark.parametrize(
    ("games", "flipped", "swapped"),
    [
        *(([game("xy", first, order=1), game("yx", second, order=2)], flipped, swapped)
          for first, second, flipped, swapped in (
              ("A", "B", [0, 1], [0, 1]), ("B", "A", [0, 1], [0, 1]), ("C", "C", [0, 1], [0, 1]),
              ("A", "A", [1, 0], [1, 0]), ("B", "B", [1, 0], [1, 0]),
              ("A", "C", [1, 0], [0, 1]), ("C", "B", [1, 0], [0, 1]),
          )),
        # Games of one order are no pair, repeats are other answers, a third game of a pair has no partner.
        ([game("xy", "A"), game("xy", "A"), game("xz", "A")], None, None),
        ([game("xy", "A"), game("yx", "A", repeat_a=2)], None, None),
        ([game("xy", "A"), game("yx", "A"), game("yx", "B")], [1, 0], [1, 0]),
    ],
)  # fmt: skip
def test_verdicts_in_both_orders(
    games: list[Game], flipped: list[int] | None, swapped: list[int] | None
) -> None:
    shares = tally(games).shares
    assert (shares.get(FLIPPED), shares.get(REVERSED)) == (flipped, swapped)


@pytest.mark.parametrize(
    ("tallies", "expected", "interval"),
    [
        ([(2, 0)] * 5, (10, 10, 1.0, 0.0625), (0.025**0.2, 1.0)),
        ([(3, 1), (0, 0)], (3, 4, 0.75, 1.0), (0.025 * 0.75, 1 - 0.025 * 0.25)),
    ],
)
def test_shares_by_hand(
    tallies: list[tuple[int, int]], expected: tuple[object, ...], interval: tuple[float, float]
) -> None:
    """The lower end of 5 of 5 by Clopper and Pearson is 0.025^(1/5)."""
    found = share_of(tallies)
    assert (found.count, found.total, found.share, found.p_value) == expected
    assert found.interval == pytest.approx(interval)


def test_without_games_there_is_no_share() -> None:
    assert share_of([]) == share_of([(0, 0)])
    assert share_of([]).share is None


@given(TALLIES)
def test_the_test_equals_the_randomisation_test(tallies: Sequence[tuple[int, int]]) -> None:
    """At most nine queries, so that both are exact."""
    assert sign_flip_test(won - lost for won, lost in tallies) == pytest.approx(
        paired_test(*zip(*tallies, strict=True))
    )


def test_the_example_of_the_docstring() -> None:
    assert doctest.testmod(biases) == (0, 1)


@given(st.integers(0, 30), st.integers(0, 30))
def test_with_one_game_per_query_it_is_the_sign_test(won: int, lost: int) -> None:
    expected = binomtest(won, won + lost).pvalue if won + lost else 1.0
    assert sign_flip_test([1] * won + [-1] * lost) == pytest.approx(expected)


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
        [tally(query, is_own=lambda system: system == "x") for query in some] for some in (queries, swapped)
    )
    assert [each.counts for each in before] == [each.counts for each in after]
    was, now = shares_of(before), shares_of(after)
    place_before, place_after = was.pop("place A"), now.pop("place A")
    assert was == now
    assert place_before.count == place_after.total - place_after.count
    assert place_before.p_value == place_after.p_value
    if place_before.interval is not None and place_after.interval is not None:
        mirrored = [1 - place_after.interval.high, 1 - place_after.interval.low]
        assert np.allclose(place_before.interval, mirrored)


@given(QUERIES)
def test_every_game_is_counted_once(queries: list[list[Game]]) -> None:
    tallies = [tally(query) for query in queries]
    counts, found = sum((each.counts for each in tallies), Counter[str]()), shares_of(tallies)
    assert counts["games"] == sum(map(len, queries))
    ratings = sum(g.decided_by == "ratings" and g.winner in ("A", "B") for query in queries for g in query)
    others = [counts[name] for name in ("ungraded", "by rule", "ties")]
    assert sum(others) + found["place A"].total + ratings == counts["games"]
    flipped, swapped = found[FLIPPED], found[REVERSED]
    assert flipped.total == swapped.total
    assert flipped.count >= swapped.count


def test_a_judge_that_always_answers_a() -> None:
    both = [[game(f"{a}{b}", "A") for a in SYSTEMS for b in SYSTEMS if a != b] for _ in range(4)]
    tallies = [tally(query) for query in both]
    found = shares_of(tallies)
    assert [found[name].share for name in ("place A", FLIPPED, REVERSED)] == [1.0, 1.0, 1.0]
    assert [each.shares[FLIPPED] for each in tallies] == [[3, 0]] * 4
    assert found["place A"].p_value == 0.125


def test_a_tie_in_one_order_only_counts_as_flipped_but_not_as_reversed() -> None:
    """As in the ratings, where two different verdicts of a pair make a tie."""
    counted = tally([game("ab", "A"), game("ba", "C"), game("cd", "A"), game("dc", "B")])
    found = shares_of([counted])
    assert (found[FLIPPED].share, found[REVERSED].share) == (0.5, 0.0)
