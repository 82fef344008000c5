"""Reports of ratings: columns, win matrix and head-to-head table, as text and for scripts."""

from __future__ import annotations

import pytest

from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.games.elo_command import ratings_report, win_matrix_table
from exam_pp.plugins.games.ratings import RatingOptions, Ratings, compare_pairs, ratings
from exam_pp.rendering.document import Table
from exam_pp.rendering.render import render
from tests.plugins.games.table_5 import TABLE_6, table_5_games
from tests.plugins.games.test_ratings import FEW, outcomes


@pytest.fixture(scope="module")
def board() -> Ratings:
    games = [game for game in table_5_games() if int(game.query_id[1:]) < 30]
    return ratings(games, RatingOptions(("elo", "bradley-terry"), tournaments=50, statistics=FEW))


def test_the_leaderboard_has_one_decimal_and_intervals(board: Ratings) -> None:
    (table, *_) = (b for b in ratings_report(board.standings, {"": board}).blocks if isinstance(b, Table))

    assert table.columns == [
        "system", "Elo", "interval", "rank", "Bradley-Terry", "interval", "rank"
    ]  # fmt: skip
    best = board.standings.systems[0]
    value = board.standings.rows[best, "Elo"].mean
    assert table.rows[0][:2] == [best, f"{value:.1f}"]
    assert str(table.rows[0][2]).count(".") == 2


def test_tables_follow_the_notes(board: Ratings) -> None:
    pairs = compare_pairs(board)
    report = ratings_report(board.standings, {"": board}, {"": pairs})
    tables = [block for block in report.blocks if isinstance(block, Table)]

    assert [table.title.split(" that")[0] for table in tables[1:]] == [
        "Games", "Share of games", "Head to head",
    ]  # fmt: skip
    assert len(tables[3].rows) == 15
    assert tables[3].columns[:5] == ["system", "against", "games", "queries", "won"]
    assert report.notes[-1].startswith("Head to head: shares")
    text = render(report, "text")
    assert "sd of Elo over tournaments" in text


def test_scripts_get_numbers(board: Ratings) -> None:
    report = ratings_report(board.standings, {"": board}, {"": compare_pairs(board)}, formatted=False)
    leaderboard, _, matrix, pairs = (block for block in report.blocks if isinstance(block, Table))

    assert leaderboard.columns[:7] == [
        "system", "Elo", "Elo stderr", "Elo low", "Elo high", "Elo rank low", "Elo rank high",
    ]  # fmt: skip
    assert pairs.columns[4:7] == ["won", "won low", "won high"]
    assert all(isinstance(cell, int | float) for cell in pairs.rows[0][2:])
    assert matrix.rows[0][1] is None
    assert '"Elo low"' in render(report, "json")


def test_the_win_matrix_has_shades(board: Ratings) -> None:
    table = win_matrix_table(board.matrix)

    assert table.columns == ["system", *board.matrix.systems, "mean"]
    assert set(board.matrix.systems) == set(TABLE_6)
    assert len(table.shades) == 30
    assert all(0 <= shade <= 5 for shade in table.shades.values())


def test_systems_without_games_and_judges() -> None:
    plain = RatingOptions(("bradley-terry",), statistics=Statistics())
    boards = {"x": ratings(outcomes("a>b"), plain, systems=["a", "b", "z"])}
    report = ratings_report(boards["x"].standings, boards)
    _, games, matrix = (block for block in report.blocks if isinstance(block, Table))

    assert games.title == "Games, x"
    assert games.columns == ["system", "games", "won", "tied", "lost"]
    assert games.rows[-1] == ["z", 0, None, None, None]
    assert matrix.rows == [["a", None, 1.0, 1.0], ["b", 0.0, None, 0.0]]
