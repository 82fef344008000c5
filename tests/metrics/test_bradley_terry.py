"""Bradley-Terry ratings: closed forms, independence of the order, and games without a maximum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exam_pp.metrics.bradley_terry import bradley_terry, bradley_terry_samples, has_maximum
from exam_pp.metrics.outcomes import Outcomes, query_counts
from tests.metrics.ragelo_games import table_5_games
from tests.metrics.test_elo import GAMES, outcomes_of

evalica = pytest.importorskip("evalica")


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


@settings(max_examples=40, deadline=None)
@given(GAMES, st.randoms())
def test_the_order_of_games_has_no_effect(games: list[tuple[int, int, int, float]], rng: object) -> None:
    shuffled = games.copy()
    rng.shuffle(shuffled)  # type: ignore[attr-defined]

    assert rated(outcomes_of(shuffled)) == pytest.approx(rated(outcomes_of(games)), abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(GAMES, st.permutations("abcde"))
def test_other_names_get_the_same_ratings(games: list[tuple[int, int, int, float]], names: list[str]) -> None:
    before, after = rated(outcomes_of(games)), rated(outcomes_of(games, "".join(names)))
    renamed = {names["abcde".index(system)]: rating for system, rating in before.items()}

    assert after == pytest.approx(renamed, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(GAMES)
def test_ratings_are_finite_with_mean_1000(games: list[tuple[int, int, int, float]]) -> None:
    ratings = list(rated(outcomes_of(games)).values())
    assert np.isfinite(ratings).all()
    assert np.mean(ratings) == pytest.approx(1000)


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


def test_evalica_has_the_same_ratings() -> None:
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
    monkeypatch.setattr("exam_pp.metrics.bradley_terry._CELLS", 7 * len(games.systems) ** 2)
    assert bradley_terry_samples(games, counts)[0] == pytest.approx(together)
    assert missing == 0
    weights = counts[0][games.query]
    repeated = [game for game, n in zip(table_5_games(), weights, strict=True) for _ in range(n)]
    alone = Outcomes.of(repeated)
    assert bradley_terry(alone.half_wins()) == pytest.approx(
        together[0][[games.systems.index(system) for system in alone.systems]]
    )
