"""Elo and Bradley-Terry ratings: published figures, closed forms, a plain loop, and invariants."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.uncertainty import query_counts
from exam_pp.plugins.games.elo_bradley_terry import (
    EloRules,
    bradley_terry,
    bradley_terry_samples,
    elo,
    elo_samples,
    has_maximum,
)
from exam_pp.plugins.games.outcomes import Outcome, Outcomes
from tests.plugins.games.table_5 import TABLE_6, table_5_games

evalica = pytest.importorskip("evalica")

GAMES = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 4), st.integers(1, 4), st.sampled_from([0.0, 0.5, 1.0])),
    min_size=1,
    max_size=25,
)
"""Query, system a, distance to system b of five systems, score."""


def outcomes_of(games: list[tuple[int, int, int, float]], names: str = "abcde") -> Outcomes:
    return Outcomes.of([Outcome(f"q{q}", names[a], names[(a + d) % 5], score) for q, a, d, score in games])


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


@pytest.mark.parametrize(
    ("rules", "ratings"), [(EloRules(), [1030.53, 969.47]), (EloRules(integer=True), [1030, 969])]
)
def test_two_games_won_from_the_start(rules: EloRules, ratings: list[float]) -> None:
    """The example of docs/how-to/tournaments.md; the integers are those of RAGElo's agents_ranking.csv."""
    games = Outcomes.of([Outcome(query, "A", "B", 1.0) for query in ("1", "2")])
    assert elo(games, rules, tournaments=3) == pytest.approx(np.array([ratings] * 3), abs=0.005)


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


@given(GAMES, st.permutations("abcde"))
def test_other_names_get_the_same_ratings(games: list[tuple[int, int, int, float]], names: list[str]) -> None:
    before, after = outcomes_of(games), outcomes_of(games, "".join(names))
    renamed = [names["abcde".index(system)] for system in before.systems]

    assert after.systems == renamed
    assert (elo(before, tournaments=5) == elo(after, tournaments=5)).all()


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
    for row in counts[:50]:
        drawn = np.repeat(np.arange(len(games)), row[games.query])
        played = (games.query[drawn], games.a[drawn], games.b[drawn], games.score[drawn])
        sample = Outcomes(games.systems, games.query_ids, *played)
        exact.append(elo(sample, tournaments=40).mean(axis=0))

    found = elo_samples(games, counts, ratings, seed=1)
    assert found.mean(axis=0) == pytest.approx(ratings, abs=1e-6)
    assert found.std(axis=0).mean() == pytest.approx(np.std(exact, axis=0).mean(), rel=0.2)


def test_a_system_without_games_in_a_sample() -> None:
    games = Outcomes.of([Outcome("1", "a", "b", 1.0), Outcome("2", "a", "c", 0.0)])
    ratings = np.array([1000.0, 1010.0, 990.0])
    found = elo_samples(games, np.array([[2, 0], [1, 1], [0, 2], [2, 0]]), ratings)

    assert (found[:, 1] == 1010).tolist() == [False, False, True, False]
    assert found[0, 2] == found[3, 2] == 990 != found[1, 2]


def test_evalica_plays_the_same_game() -> None:
    games = [Outcome("1", "a", "b", 1.0)] * 7
    found = evalica.elo(["a"] * 7, ["b"] * 7, [evalica.Winner.X] * 7, k=32.0).scores

    assert elo(Outcomes.of(games), tournaments=1)[0].tolist() == pytest.approx([found["a"], found["b"]])


@pytest.mark.parametrize("k", [5e-324, 1e-320, 1e-9])
def test_k_close_to_zero_changes_no_rating(k: float) -> None:
    games = outcomes_of([(0, 0, 1, 1.0), (1, 1, 1, 0.5), (2, 2, 1, 0.0)])
    ratings = np.full(len(games.systems), 1000.0)
    assert elo_samples(games, query_counts(3, 2, 0), ratings, EloRules(k)) == pytest.approx(1000.0)


def rated(outcomes: Outcomes) -> dict[str, float]:
    return dict(zip(outcomes.systems, bradley_terry(outcomes.half_wins()).tolist(), strict=True))


def test_two_systems_have_the_logarithm_of_the_odds() -> None:
    """3 wins of 4: R_a - R_b = 400 log10(3)."""
    ratings = bradley_terry(np.array([[0.0, 3.0], [1.0, 0.0]]))

    assert ratings[0] - ratings[1] == pytest.approx(400 * np.log10(3))
    assert ratings.mean() == pytest.approx(1000)


def test_ratings_expect_the_points_that_were_won() -> None:
    """The maximum: the expected number of wins of each system is the number that it won."""
    wins = Outcomes.of(table_5_games()).half_wins()
    ratings = bradley_terry(wins)
    expected = 1 / (1 + 10 ** ((ratings - ratings[:, None]) / 400))

    assert ((wins + wins.T) * expected).sum(axis=1) == pytest.approx(wins.sum(axis=1))


def test_several_tables_at_a_time() -> None:
    wins = np.random.default_rng(0).random((4, 6, 5, 5)) + 0.1
    together = bradley_terry(wins)

    assert together.shape == (4, 6, 5)
    assert together[3, 2] == pytest.approx(bradley_terry(wins[3, 2]))


@given(GAMES, st.randoms())
def test_the_order_of_games_has_no_effect(games: list[tuple[int, int, int, float]], rng: object) -> None:
    shuffled = games.copy()
    rng.shuffle(shuffled)  # type: ignore[attr-defined]

    assert rated(outcomes_of(shuffled)) == pytest.approx(rated(outcomes_of(games)), abs=1e-5)


@given(GAMES, st.permutations("abcde"))
def test_other_names_get_the_same_strengths(
    games: list[tuple[int, int, int, float]], names: list[str]
) -> None:
    """Finite ones, with a mean of 1000."""
    before, after = rated(outcomes_of(games)), rated(outcomes_of(games, "".join(names)))
    renamed = {names["abcde".index(system)]: rating for system, rating in before.items()}

    assert after == pytest.approx(renamed, abs=1e-5)
    assert np.mean(list(before.values())) == pytest.approx(1000)


def test_a_system_that_won_all_games_has_an_additional_tie() -> None:
    """With a tie against 1000: 400 log10 of the odds that solve 3 (1 - p(2r)) = p(r) - 0.5."""
    table = np.array([[0.0, 3.0], [0.0, 0.0]])
    (high, low) = bradley_terry(table)

    def p(difference: float) -> float:
        return float(1 / (1 + 10 ** (-difference / 400)))

    assert not has_maximum(table[None])[0]
    assert high + low == pytest.approx(2000)
    assert 3 * (1 - p(high - low)) == pytest.approx(p(high - 1000) - 0.5)


def test_groups_that_never_met_are_each_around_1000() -> None:
    table = np.zeros((4, 4))
    table[0, 1], table[1, 0], table[2, 3], table[3, 2] = 3, 1, 1, 1
    ratings = bradley_terry(table)

    assert ratings[2] == ratings[3] == pytest.approx(1000)
    assert ratings[0] > 1000 > ratings[1]


def test_evalica_has_the_same_strengths() -> None:
    games = table_5_games()
    verdicts = {1.0: evalica.Winner.X, 0.0: evalica.Winner.Y, 0.5: evalica.Winner.Draw}
    found = evalica.bradley_terry(
        [game.system_a for game in games],
        [game.system_b for game in games],
        [verdicts[game.score] for game in games],
        tolerance=1e-12,
        limit=10_000,
    ).scores
    logs = {system: 400 * np.log10(score) for system, score in found.items()}
    mean = np.mean(list(logs.values()))

    assert rated(Outcomes.of(games)) == pytest.approx({s: 1000 + v - mean for s, v in logs.items()})


def test_blocks_of_samples_do_not_change_the_ratings(monkeypatch: pytest.MonkeyPatch) -> None:
    games = Outcomes.of(table_5_games())
    counts = query_counts(len(games.query_ids), 25, 0)
    together, missing = bradley_terry_samples(games, counts)
    monkeypatch.setattr("exam_pp.plugins.games.elo_bradley_terry._TABLE_CELLS", 7 * len(games.systems) ** 2)
    assert bradley_terry_samples(games, counts)[0] == pytest.approx(together)
    assert missing == 0
    weights = counts[0][games.query]
    repeated = [game for game, n in zip(table_5_games(), weights, strict=True) for _ in range(n)]
    alone = Outcomes.of(repeated)
    assert bradley_terry(alone.half_wins()) == pytest.approx(
        together[0][[games.systems.index(system) for system in alone.systems]]
    )
