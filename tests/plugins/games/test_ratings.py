"""Ratings of games: leaderboards, intervals, notes on games without finite ratings, and pairs."""

from __future__ import annotations

import pytest

from exam_pp.errors import SelectionError
from exam_pp.phases.evaluation.leaderboards import Statistics
from exam_pp.plugins.games.elo_bradley_terry import EloRules
from exam_pp.plugins.games.outcomes import JudgedGames, Outcome
from exam_pp.plugins.games.ratings import (
    RatingOptions,
    Ratings,
    compare_pairs,
    rate,
    ratings,
    scores_of,
    together,
)
from exam_pp.results import Score
from tests.plugins.games.table_5 import JUDGE, TABLE_6, table_5_games

FEW = Statistics("queries", samples=100)
BOTH = RatingOptions(("bradley-terry", "elo"), tournaments=20, statistics=FEW)


def outcomes(*games: str) -> list[Outcome]:
    """Outcomes like ``a>b`` and ``a=b``, each on a query of its own."""
    return [
        Outcome(f"q{number}", game[0], game[2], {">": 1.0, "=": 0.5, "<": 0.0}[game[1]])
        for number, game in enumerate(games)
    ]


def value(board: Ratings, system: str, metric: str = "Elo") -> float:
    return board.standings.rows[system, metric].mean


def test_table_5_with_intervals() -> None:
    board = ratings(table_5_games(), RatingOptions(("elo", "bradley-terry"), statistics=FEW))

    assert board.standings.systems == list(TABLE_6)
    assert board.standings.metrics == ["Elo", "Bradley-Terry"]
    for system in TABLE_6:
        elo, bradley_terry = (board.standings.uncertainty.systems[system, m] for m in board.standings.metrics)
        assert value(board, system) == pytest.approx(value(board, system, "Bradley-Terry"), abs=6)
        for row, metric in ((elo, "Elo"), (bradley_terry, "Bradley-Terry")):
            assert row.low < value(board, system, metric) < row.high  # type: ignore[operator]
            assert 20 < row.high - row.low < 45  # type: ignore[operator]
            place = board.standings.systems.index(system) + 1
            assert row.first <= place <= row.last  # type: ignore[operator]
    assert [record[1] for record in board.records] == [1000] * 6
    assert board.records[0][2:5] == (486, 1000 - 486 - 255, 255)
    assert board.standings.uncertainty.notes == [
        "Intervals of ratings: 95 %, 100 bootstrap samples of queries, for Elo also of tournaments (seed 0). "
        "Ranks: those that differences of ratings leave open (Student's t over the samples, Holm over all "
        "pairs)."
    ]
    assert board.standings.notes == [
        "Elo: mean over 500 tournaments in random orders (seed 0), K 32, first rating 1000.",
        "Bradley-Terry: maximum likelihood with ties as half wins; the mean rating is 1000.",
    ]


def test_systems_that_won_or_lost_all_games() -> None:
    board = ratings(outcomes("a>b", "a>b", "b>c", "b>c"), BOTH)

    assert board.standings.systems == ["a", "b", "c"]
    assert board.standings.notes[2:] == [
        "1 system (a) won all games: the games give no upper limit of the rating.",
        "1 system (c) lost all games: the games give no lower limit of the rating.",
        "Bradley-Terry: the likelihood of these games has no maximum, so every system got an additional tie "
        "with an imaginary system of rating 1000.",
    ]


def test_groups_of_systems_that_never_met() -> None:
    board = ratings(outcomes("a>b", "b>a", "c>d", "d>c"), BOTH)

    assert board.standings.notes[2] == (
        "2 groups of systems without games between them, whose ratings cannot be compared: a, b; c, d."
    )
    assert value(board, "a", "Bradley-Terry") == pytest.approx(1000)


def test_samples_without_a_maximum_are_counted() -> None:
    board = ratings(outcomes("a>b", "b>a", "a>b", "a>b", "b>a"), BOTH)
    (note, *_) = board.standings.uncertainty.notes

    assert note.startswith("Bradley-Terry: ")
    assert note.endswith(
        " of 10000 bootstrap samples have no maximum of the likelihood, and use an additional tie of every "
        "system."
    )


def test_intervals_of_eight_queries_are_marked() -> None:
    standings = ratings(outcomes(*["a>b", "b>a", "a=b", "a>b"] * 2), BOTH).standings

    row = standings.uncertainty.systems["a", "Elo"]
    assert row.low < 1000 < row.high  # type: ignore[operator]
    assert (row.first, row.last) == (1, 2)
    assert "10000 bootstrap samples" in standings.uncertainty.notes[-1]
    assert "With 8 queries, they are approximate." in standings.uncertainty.notes[-1]


def test_notes_on_games_and_systems_without_games() -> None:
    games = JudgedGames(outcomes("a>b", "b>a"), JUDGE, ["a", "b", "z"], ungraded=3, both_orders=8, flips=2)
    board = rate(games, BOTH)

    assert (board.unrated, board.standings.systems) == (["z"], ["a", "b"])
    assert board.standings.notes[:2] == [
        "3 ungraded games not played.",
        "8 pairs of answers with verdicts in both orders, each as one game: 2 with different verdicts as "
        "ties.",
    ]
    assert board.standings.notes[-1] == "Not ranked: 1 system (z) without played games."
    assert board.standings.provenance.models == ("gpt-4o",)  # type: ignore[union-attr]
    assert board.standings.provenance.queries == 2  # type: ignore[union-attr]


def test_games_without_verdicts_cannot_be_rated() -> None:
    games = JudgedGames([], JUDGE, ["a", "b"], ungraded=2, sources=["g.jsonl"])
    with pytest.raises(SelectionError, match=r"g.jsonl: all 2 games are ungraded"):
        rate(games)


def test_rules_of_elo() -> None:
    options = RatingOptions(rules=EloRules(10, 100, integer=True), tournaments=1, statistics=Statistics())
    board = ratings(outcomes("a>b"), options)

    assert scores_of(board.standings).scores == [Score("a", "all", "Elo", 105), Score("b", "all", "Elo", 95)]
    assert board.standings.notes[0] == (
        "Elo: mean over 1 tournament in random orders (seed 0), K 10, first rating 100, truncated to "
        "integers after every game."
    )


def test_all_pairs_that_met() -> None:
    rows = compare_pairs(ratings(outcomes("a>b", "a=b", "c>b"), BOTH))

    assert {frozenset(row[:2]) for row in rows} == {frozenset("ab"), frozenset("bc")}


def test_boards_of_several_judges() -> None:
    boards = {
        "x": ratings(outcomes(*["a>b", "b=a"] * 4), BOTH),
        "y": ratings(outcomes(*["b>a", "c=b"] * 4), BOTH),
    }
    standings = together(boards)

    assert standings.metrics == ["Bradley-Terry[x]", "Elo[x]", "Bradley-Terry[y]", "Elo[y]"]
    assert standings.systems == ["a", "b", "c"]
    assert standings.rows["a", "Elo[x]"].mean == value(boards["x"], "a")
    assert ("c", "Elo[x]") not in standings.rows
    assert standings.uncertainty.systems["b", "Elo[y]"].low is not None
    assert sum(note.startswith("Elo: mean over") for note in standings.notes) == 1
    assert any(note.startswith("y: ") for note in standings.notes)
    assert together({"": boards["x"]}) is boards["x"].standings


def test_equal_systems_share_their_ranks() -> None:
    """On each of 100 queries, a beats b, b beats c, and c beats a: only the order of games differs."""
    games = [
        Outcome(str(query), first, second, 1.0)
        for query in range(100)
        for first, second in ("ab", "bc", "ca")
    ]
    board = ratings(games).standings
    for system in "abc":
        row = board.uncertainty.systems[system, "Elo"]
        assert (row.first, row.last) == (1, 3)
        assert (row.low, row.high) == (None, None)


def test_a_tiny_k_does_not_make_queries_equal() -> None:
    rules = RatingOptions(rules=EloRules(k=1e-9), tournaments=20, statistics=FEW)
    (note,) = ratings(outcomes(*["a>b", "b>a", "a=b"] * 4), rules).standings.uncertainty.notes
    assert note.startswith("Intervals of ratings: ")


def test_intervals_without_width_are_announced() -> None:
    games = [Outcome(str(query), "a", "b", 0.5) for query in range(6)]
    (note, _) = ratings(games).standings.uncertainty.notes
    assert note.startswith("No interval for a, b: the same outcomes on all queries")


@pytest.mark.parametrize(("queries", "ranks"), [(5, (1, 2)), (6, (1, 1))])
def test_equal_outcomes_need_six_queries_to_show_an_order(queries: int, ranks: tuple[int, int]) -> None:
    """The p-value of an exact test on n queries is at least 2^(1 − n)."""
    board = ratings(outcomes(*["a>b"] * queries), BOTH).standings
    row = board.uncertainty.systems["a", "Bradley-Terry"]
    assert (row.first, row.last) == ranks
    assert row.low is None
