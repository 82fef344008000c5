"""Games from files of scores: equal to comparing the scores."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.games import QueryGames
from exam_pp.plugins.games.biases import game_biases
from exam_pp.plugins.games.from_scores import games_from_scores, winner_of

WriteLines = Callable[[str, list[Any]], Path]
Verdicts = dict[tuple[str, str, str], str | None]


def verdicts(queries: Iterable[QueryGames]) -> Verdicts:
    """Query and both systems to the winner."""
    return {
        (query.query_id, str(game.a), str(game.b)): game.winner
        for query in queries
        for game in query.game_sets[0].games
    }


def test_rounding_errors_decide_no_game() -> None:
    assert winner_of(0.1 + 0.2, 0.3) == "C"
    assert winner_of(2e-10, 1e-12) == "A"
    assert winner_of(0.3 - 0.1, 0.1, tie_margin=0.1) == "C"


def test_outputs_of_trec_eval(tmp_path: Path) -> None:
    """A file for each run, with means and another measure."""
    for system, score in (("x", 0.5), ("y", 0.25)):
        lines = [
            ("runid", "all", system),
            ("map", "q1", score),
            ("P_5", "q1", 1 - score),
            ("map", "all", score),
        ]
        text = "".join(f"{name:22}\t{query}\t{value}\n" for name, query, value in lines)
        (tmp_path / f"{system}.eval").write_text(text)
    files = [tmp_path / "x.eval", tmp_path / "y.eval"]
    result = games_from_scores(files, measure="map")
    assert verdicts(result.queries) == {("q1", "x", "y"): "A"}
    first = next(iter(result.queries)).game_sets[0]
    assert (first.model, first.prompt_class, first.games[0].words_a) == ("x.eval, y.eval", "map", None)
    assert verdicts(games_from_scores(files, measure="P_5").queries) == {("q1", "x", "y"): "B"}
    (tmp_path / "again").mkdir()
    files.append(Path(shutil.copy(files[0], tmp_path / "again")))
    with pytest.raises(SelectionError, match="and so has another file; leave out one of them"):
        games_from_scores(files, measure="map")


@pytest.mark.parametrize(
    ("lines", "options", "problem"),
    [
        ("x\tall\tF1\t1\n", {}, "has no scores of single queries"),
        (
            "x\tq1\tF1\t1\nx\tq1\tF2\t1\n",
            {},
            "has the measures F1, F2; select one with --by.",
        ),
        ("x\tq1\tF1\t1\n", {"measure": "F2"}, "has the measures F1; select one with --by."),
        ("x\tq1\tF1\t1\ny\tq2\tF1\t1\n", {}, "at least two systems on a common query"),
        ("x\tq1\tF1\t1\ny\tq1\tF1\t1\n", {"queries": ["q2"]}, "at least two systems on a common query"),
    ],
)
def test_scores_that_decide_no_games(tmp_path: Path, lines: str, options: Any, problem: str) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text(f"system\tquery\tmeasure\tvalue\n{lines}")
    with pytest.raises(SelectionError) as caught:
        games_from_scores(path, **options)
    assert problem in str(caught.value)


def test_scores_have_no_place_bias(tmp_path: Path) -> None:
    path = tmp_path / "scores.tsv"
    path.write_text("system\tquery\tmeasure\tvalue\nx\tq1\tF1\t1\ny\tq1\tF1\t0\n")
    found = game_biases(games_from_scores(path).queries).judges[0].shares
    assert found["place A"].total == 0
