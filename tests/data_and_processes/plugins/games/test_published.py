"""Published files of RAGElo, and biases of its games."""

from __future__ import annotations

from pathlib import Path

from exam_pp.formats.base import format_of
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.plugins.games.biases import game_biases
from exam_pp.store.passages.graded_file import read_passages
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


def test_results_of_ragelo(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "ragelo"
    source, there, back = folder / "agents_ranking.csv", tmp_path / "ranking", tmp_path / "ranking.csv"
    assert not convert(Conversion(source, there, "scores-jsonl", "ragelo-ranking"))
    assert not convert(Conversion(there, back, "ragelo-ranking"))
    assert back.read_text() == source.read_text(encoding="utf-8-sig").replace("\r\n", "\n")
    assert not convert(Conversion(folder / "reasonings.csv", tmp_path / "reasonings", "graded"))
    grades = [
        (passage.passage_id, next(passage.grade_sets()).entry_ratings())
        for query in read_passages(tmp_path / "reasonings")
        for passage in query.passages
    ]
    assert grades == [("0", {"direct": 2}), ("1", {"direct": 1}), ("2", {"direct": 2}), ("3", {"direct": 0})]
