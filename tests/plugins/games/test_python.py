"""Tournaments from Python: equal to the commands, with games in files and in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp.cli.main import main
from tests.plugins.games.games import game, games_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Games in which a beats b, and b beats c."""
    return games_file(
        tmp_path / "games.jsonl.gz",
        {"q1": [game("a", "b", "A"), game("b", "c", "A")], "q2": [game("b", "a", "B"), game("c", "a", "C")]},
    )


@pytest.mark.parametrize(
    ("options", "words", "columns"),
    [
        ({"method": ["elo", "bradley-terry"], "intervals": False}, "--intervals none -m bradley-terry", [""]),
        ({"samples": 100}, "-S samples=100", ["", " low", " high"]),
    ],
)
def test_ratings_equal_those_of_the_command(
    options: dict[str, Any], words: str, columns: list[str], tmp_path: Path
) -> None:
    """Six queries, as intervals need five, and every system wins and loses. Place A wins 8 games of 12."""
    usual = [game("a", "b", "A"), game("c", "b", "B")]
    upset = [game("b", "a", "A"), game("c", "a", "A")]
    queries = {f"q{number}": upset if number in (3, 6) else usual for number in range(1, 7)}
    file = games_file(tmp_path / "games.jsonl", queries)
    board = exam_pp.elo(file, tournaments=2, **options)
    line = f"-q evaluate elo {file} -m elo {words} --elo tournaments=2 --format json -o out.json"
    main(line.split())
    rows = {row["system"]: row for row in json.loads(Path("out.json").read_text())["tables"][0]["rows"]}
    assert [[row.mean, row.low, row.high][: len(columns)] for row in board] == [
        pytest.approx([rows[row.system][f"{row.metric}{column}"] for column in columns]) for row in board
    ]
    assert any(note.startswith("Place A wins 66.7 % (8 of 12") for note in board.notes)


def test_games_of_files_and_objects_are_equal(file: Path, tmp_path: Path) -> None:
    queries = list(exam_pp.read_games(file))
    assert isinstance(queries[0], exam_pp.QueryGames)
    exam_pp.write_games(queries, tmp_path / "copy.jsonl")
    boards = [
        list(exam_pp.elo(games, tournaments=5, samples=100))
        for games in (file, str(file), queries, [tmp_path / "copy.jsonl"], iter(queries))
    ]
    assert all(board == boards[0] for board in boards)


def test_mistakes_are_one_sentence(file: Path) -> None:
    with pytest.raises(
        exam_pp.ExamError, match="method 'glicko' is unknown; the methods are elo, bradley-terry"
    ):
        exam_pp.elo(file, method="glicko")
    with pytest.raises(exam_pp.ExamError, match="'z' of --system plays no games in the input"):
        exam_pp.elo(exam_pp.read_games(file), systems=["a", "z"])


def test_comparisons_equal_those_of_the_command(demo_data: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.jsonl"
    names = " ".join(
        f"--answers {demo_data / 'answers' / name}" for name in ("gen-long.jsonl", "gen-short.jsonl")
    )
    main(f"-q import {names} --unit whole -o {answers}".split())
    queries = demo_data / "queries.jsonl"
    summary = exam_pp.compare(
        answers, tmp_path / "a.jsonl", queries=queries, model="fake", both_orders=True, seed=3
    )
    line = f"-q compare {answers} -o {tmp_path / 'b.jsonl'} --queries {queries} --both-orders --seed 3"
    main([*line.split(), "--model", "fake"])
    assert summary.queries == 20
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
