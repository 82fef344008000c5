"""Biases of published games."""

from __future__ import annotations

from pathlib import Path

from exam_pp.formats.base import format_of
from exam_pp.plugins.games.biases import game_biases
from tests.plugins.games.test_bias_notes import line


def test_the_games_of_ragelo(shared_data: Path) -> None:
    """Both games of the published example have agent 1 in place A, and it wins both."""
    path = shared_data / "ragelo" / "pairwise_answers_evaluations.csv"
    records = format_of(path).records
    assert records is not None
    read = list(records(path))
    queries = [line(game.qid, (game.agent_a, game.agent_b, game.winner)) for game in read]
    (row,) = game_biases(queries).judges
    place = row.shares["place A"]
    assert (place.count, place.total, place.p_value) == (2, 2, 0.5)
    assert row.shares["longer answer"].total == 0
