"""Elo ratings: published figures, a plain loop, and invariants."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exam_pp.metrics.elo import EloRules, elo, elo_samples
from exam_pp.metrics.outcomes import Outcome, Outcomes, query_counts
from tests.metrics.ragelo_games import JUDGE, TABLE_6, table_5_games

evalica = pytest.importorskip("evalica")

GAMES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(1, 4), st.sampled_from([0.0, 0.5, 1.0])),
    min_size=1,
    max_size=25,
)
"""Query, system a, distance to system b of five systems, score."""


def outcomes_of(games: list[tuple[int, int, int, float]], names: str = "abcde") -> Outcomes:
    return Outcomes.of(
        [Outcome(f"q{q}", names[a], names[(a + d) % 5], score, JUDGE) for q, a, d, score in games]
    )


def plain_loop(games: Outcomes, order: list[int], k: float = 32.0, *, integer: bool = False) -> list[float]:
    """A tournament by the formulas, one game at a time."""
    ratings = [1000.0] * len(games.systems)
    for game in order:
        a, b, score = games.a[game], games.b[game], games.score[game]
        expected = 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400))
        ratings[a] += k * (score - expected)
        ratings[b] += k * ((1 - score) - (1 - expected))
        if integer:
            ratings[a], ratings[b] = float(int(ratings[a])), float(int(ratings[b]))
    return ratings


def test_two_games_won_from_the_start() -> None:
    """The example of docs/how-to/tournaments.md; the integers are those of RAGElo's agents_ranking.csv."""
    games = Outcomes.of([Outcome(query, "A", "B", 1.0, JUDGE) for query in ("1", "2")])

    assert elo(games, tournaments=3).tolist() == [pytest.approx([1030.53, 969.47], abs=0.005)] * 3
    assert elo(games, EloRules(integer=True), tournaments=3).tolist() == [[1030.0, 969.0]] * 3


def test_table_6_of_the_paper() -> None:
    games = Outcomes.of(table_5_games())
    found = dict(zip(games.systems, elo(games, EloRules(integer=True)).mean(axis=0), strict=True))

    assert sorted(found, key=lambda system: -found[system]) == list(TABLE_6)
    assert np.mean(list(found.values())) == pytest.approx(502, abs=1)
    assert found == pytest.approx(TABLE_6, abs=20)


def test_table_5_without_truncation() -> None:
    games = Outcomes.of(table_5_games())
    found = dict(zip(games.systems, elo(games).mean(axis=0), strict=True))

    assert sorted(found, key=lambda system: -found[system]) == list(TABLE_6)
    assert found["RAGF BM25"] == pytest.approx(1070, abs=8)
    assert found["RAG KNN"] == pytest.approx(934, abs=8)
    assert np.mean(list(found.values())) == pytest.approx(1000)


@settings(max_examples=30, deadline=None)
@given(GAMES, st.booleans())
def test_all_tournaments_equal_a_plain_loop(games: list[tuple[int, int, int, float]], integer: bool) -> None:
    """A game of the same two systems with the same score: all orders are equal, so a loop can check them."""
    one = outcomes_of(games[:1] * len(games))
    expected = plain_loop(one, list(range(len(one))), integer=integer)

    assert elo(one, EloRules(integer=integer), tournaments=4) == pytest.approx(np.array([expected] * 4))


def test_the_mean_is_that_of_plain_loops() -> None:
    rng = random.Random(3)
    games = outcomes_of([(q, q % 5, 1 + q % 4, rng.choice([0.0, 0.5, 1.0, 1.0])) for q in range(40)])
    loops = [plain_loop(games, rng.sample(range(40), 40)) for _ in range(2000)]

    found = elo(games, tournaments=2000)
    error = np.std(loops, axis=0) / np.sqrt(1000)
    assert (np.abs(found.mean(axis=0) - np.mean(loops, axis=0)) < 5 * error).all()
    assert found.std(axis=0) == pytest.approx(np.std(loops, axis=0), rel=0.15)


@settings(max_examples=30, deadline=None)
@given(GAMES, st.permutations("abcde"))
def test_other_names_get_the_same_ratings(games: list[tuple[int, int, int, float]], names: list[str]) -> None:
    before, after = outcomes_of(games), outcomes_of(games, "".join(names))
    renamed = [names["abcde".index(system)] for system in before.systems]

    assert after.systems == renamed
    assert (elo(before, tournaments=5) == elo(after, tournaments=5)).all()


@settings(max_examples=30, deadline=None)
@given(GAMES)
def test_the_sum_of_floats_stays(games: list[tuple[int, int, int, float]]) -> None:
    outcomes = outcomes_of(games)
    assert elo(outcomes, tournaments=5).mean(axis=1) == pytest.approx(np.full(5, 1000.0))


def test_the_seed_gives_the_orders() -> None:
    games = outcomes_of([(q, q % 5, 1, 1.0) for q in range(15)])
    assert (elo(games, seed=1, tournaments=5) == elo(games, seed=1, tournaments=5)).all()
    assert (elo(games, seed=1, tournaments=5) != elo(games, seed=2, tournaments=5)).any()


def test_the_spread_of_samples_is_that_of_queries_alone() -> None:
    """Equal to the spread of means over many tournaments of each sample, which take long."""
    games = Outcomes.of([game for game in table_5_games() if int(game.query_id[1:]) < 40])
    ratings = elo(games).mean(axis=0)
    counts = query_counts(40, 200, seed=2)
    exact = []
    for row in counts[:80]:
        drawn = np.repeat(np.arange(len(games)), row[games.query])
        sample = Outcomes(
            games.systems,
            games.query_ids,
            games.query[drawn],
            games.a[drawn],
            games.b[drawn],
            games.score[drawn],
        )
        exact.append(elo(sample, tournaments=60).mean(axis=0))

    found = elo_samples(games, counts, ratings, seed=1)
    assert found.mean(axis=0) == pytest.approx(ratings, abs=1e-6)
    assert found.std(axis=0).mean() == pytest.approx(np.std(exact, axis=0).mean(), rel=0.2)


def test_a_system_without_games_in_a_sample() -> None:
    games = Outcomes.of([Outcome("1", "a", "b", 1.0, JUDGE), Outcome("2", "a", "c", 0.0, JUDGE)])
    ratings = np.array([1000.0, 1010.0, 990.0])
    found = elo_samples(games, np.array([[2, 0], [1, 1], [0, 2], [2, 0]]), ratings)

    assert (found[:, 1] == 1010).tolist() == [False, False, True, False]
    assert found[0, 2] == found[3, 2] == 990 != found[1, 2]


def test_evalica_plays_the_same_game() -> None:
    games = [Outcome("1", "a", "b", 1.0, JUDGE)] * 7
    found = evalica.elo(["a"] * 7, ["b"] * 7, [evalica.Winner.X] * 7, k=32.0).scores

    assert elo(Outcomes.of(games), tournaments=1)[0].tolist() == pytest.approx([found["a"], found["b"]])


def test_k_close_to_zero_changes_no_rating() -> None:
    games = outcomes_of([(0, 0, 1, 1.0), (1, 1, 1, 0.5), (2, 2, 1, 0.0)])
    ratings = np.full(len(games.systems), 1000.0)
    for k in (5e-324, 1e-320, 1e-9):
        samples = elo_samples(games, query_counts(3, 100, 0), ratings, EloRules(k))
        assert samples == pytest.approx(1000.0)
