"""Biases of the judges of games files, and their report."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import SelectionError
from exam_pp.games import Game, GameSet, QueryGames
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.games.biases import BIASES, FLIPPED, REVERSED, bias_notes, game_biases
from exam_pp.plugins.games.outcomes import judged_games
from exam_pp.store.families import known_families

FAMILIES = '[gpt]\nmodels = ["gpt-*"]\nsystems = ["gpt-rag"]\n'


def line(query_id: str, *games: tuple[str, str, str | None], judge: str = "gpt-4") -> QueryGames:
    """A query with games, whose answers have as many words as their systems have letters."""
    played = [
        Game(system_a=a, system_b=b, winner=winner, words_a=len(a), words_b=len(b)) for a, b, winner in games
    ]
    return QueryGames(query_id=query_id, game_sets=[GameSet(model=judge, games=played)])


GAMES = [
    line("q1", ("gpt-rag", "bm25", "A"), ("bm25", "gpt-rag", "A"), ("bm25", "splade", "C")),
    line("q2", ("gpt-rag", "bm25", "A"), ("bm25", "gpt-rag", "B"), ("splade", "bm25", None)),
]


def test_numbers_by_hand(tmp_path: Path) -> None:
    """Place A wins 3 of 4 decided games, and so does the longer answer, which is that of the family.

    It wins all of q1 and half of q2. By the formula for scores of which one is below the end of the range,
    the lower limit is m with m (m / 0.5) = 0.025; the upper one has a weight of q2 of at most 2 (1 - m).
    """
    (tmp_path / "families.toml").write_text(FAMILIES)
    (row,) = game_biases(GAMES, families=tmp_path / "families.toml").judges
    place, flipped = row.shares["place A"], row.shares[FLIPPED]
    assert (row.judge.model, row.family, row.queries) == ("gpt-4", "gpt", 2)
    assert row.counts == {"games": 6, "ungraded": 1, "ties": 1}
    shares = [row.shares[name] for name in BIASES]
    assert [(share.count, share.total) for share in shares] == [(3, 4)] * 3
    assert (flipped.count, flipped.total, row.shares[REVERSED].count) == (1, 2, 1)
    assert place.p_value == 1.0  # differences of 2 and 0 games
    assert place.interval == pytest.approx((0.0125**0.5, 1 - (1 - 0.975**0.5) / 2))


def test_sentences_for_a_board(tmp_path: Path) -> None:
    (tmp_path / "families.toml").write_text(FAMILIES)
    families = known_families(tmp_path / "families.toml")
    assert list(bias_notes(judged_games(GAMES), families, Statistics("queries"))) == [
        "Place A wins 75.0 % (3 of 4, 95 % interval 11.2 to 99.4, p = 1) of the decided games.",
        "The longer answer wins 75.0 % (3 of 4, 95 % interval 11.2 to 99.4, p = 1) of the games with "
        "different lengths.",
        "The judge's own family (gpt) wins 75.0 % (3 of 4, 95 % interval 11.2 to 99.4, p = 1) of the games "
        "against other systems.",
        "Flip rate: the verdicts differ in 50.0 % (1 of 2, 95 % interval 1.3 to 98.7) of the pairs of "
        "answers in both orders.",
    ]


def test_a_judge_without_a_family_is_named(tmp_path: Path) -> None:
    (tmp_path / "families.toml").write_text(FAMILIES)
    result = game_biases([line("q1", ("x", "y", "A"), judge="llama")], families=tmp_path / "families.toml")
    assert result.judges[0].shares["own family"].total == 0
    assert "1 judge has no family in the families file (llama): no share of the own family." in result.notes


def test_an_input_without_games() -> None:
    with pytest.raises(SelectionError, match="has no games"):
        game_biases([line("q1")])


@pytest.mark.parametrize(("games", "is_noted"), [(6, True), (5, False)])
def test_fixed_places_are_noted_beside_ratings(games: int, is_noted: bool) -> None:
    """One system always has place A, unless a last game has the other order."""
    fixed = [line(f"q{number}", ("x", "y", "A")) for number in range(games)]
    swapped = [*fixed, line("last", ("y", "x", "B"))]
    for lines, expected in ((fixed, is_noted), (swapped, False)):
        notes = bias_notes(judged_games(lines), None, Statistics())
        assert any("one system has place A" in note for note in notes) == expected
