"""Outcomes of games files: both orders, ungraded games, selection of judges and systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import AnswerFilter
from exam_pp.plugins.games.biases import FLIPPED, game_biases
from exam_pp.plugins.games.outcomes import judged_games
from tests.plugins.games.games import game, game_set, games_file


def scores(path: Path, selection: AnswerFilter | None = None) -> list[tuple[str, str, str, float]]:
    return [(*outcome,) for outcome in judged_games([path], selection).outcomes]


def test_verdicts_are_scores_of_place_a(tmp_path: Path) -> None:
    path = games_file(
        tmp_path / "g.jsonl", {"1": [game("a", "b", "A"), game("a", "c", "B"), game("b", "c", "C")]}
    )
    assert scores(path) == [("1", "a", "b", 1.0), ("1", "a", "c", 0.0), ("1", "b", "c", 0.5)]


def test_repeats_play_for_their_system(tmp_path: Path) -> None:
    path = games_file(
        tmp_path / "g.jsonl", {"1": [game("a", "b", "A", repeat_a=1), game("a", "b", "B", repeat_a=2)]}
    )
    assert judged_games([path]).systems == ["a", "b"]
    assert scores(path, AnswerFilter(systems=["a-run-2", "b"])) == [("1", "a", "b", 0.0)]
    assert len(scores(path, AnswerFilter(systems=["a", "b"]))) == 2


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("A", "B", [1.0]), ("B", "A", [0.0]), ("C", "C", [0.5]),  # agree
        ("A", "A", [0.5]), ("B", "B", [0.5]), ("A", "C", [0.5]), ("C", "B", [0.5]),  # differ
        (None, "A", []), ("A", None, []), (None, None, []),
    ],
)  # fmt: skip
def test_both_orders_are_one_game(
    first: str | None, second: str | None, expected: list[float], tmp_path: Path
) -> None:
    games = [game("a", "b", first, order=1), game("b", "a", second, order=2)]
    found = judged_games([games_file(tmp_path / "g.jsonl", {"1": games})])

    assert [outcome.score for outcome in found.outcomes] == expected
    assert found.ungraded == (not expected)
    assert found.both_orders == len(expected)
    agrees = (first, second) in (("A", "B"), ("B", "A"), ("C", "C"))
    assert found.flips == (bool(expected) and not agrees)


def test_an_equal_game_counts_once(tmp_path: Path) -> None:
    games = [game("a", "b", "A"), game("a", "b", "A"), game("b", "c", "C")]
    path = games_file(tmp_path / "g.jsonl", {"1": games})
    more = games_file(tmp_path / "more.jsonl", {"1": [game("a", "b", "A"), game("a", "b", "B")]})
    found = judged_games([path, more])

    assert len(found.outcomes) == 3
    assert found.copies == 2
    assert len(judged_games([path, path]).outcomes) == 2
    assert judged_games([path, path]).copies == 4


def test_games_with_different_replies_are_several(tmp_path: Path) -> None:
    games = [game("a", "b", "A", answer=f"{reason} [[A]]") for reason in ("Longer.", "Clearer.", "Longer.")]
    found = judged_games([games_file(tmp_path / "g.jsonl", {"1": games})])
    assert (len(found.outcomes), found.copies) == (2, 1)


def test_both_orders_need_swapped_places(tmp_path: Path) -> None:
    """Games of both orders with the same places are no pair; the flip rate counts the same pairs."""
    games = [
        game(a, b, "A", order=order, answer=str(order))
        for a, b in (("a", "b"), ("b", "a"))
        for order in (1, 2)
    ]
    alone = judged_games([games_file(tmp_path / "alone.jsonl", {"1": games[:2]})])
    found = judged_games([games_file(tmp_path / "g.jsonl", {"1": games})])
    assert (alone.outcomes, alone.both_orders, alone.ungraded) == ([], 0, 2)
    assert (found.both_orders, found.flips) == (2, 2)
    (judge,) = game_biases([tmp_path / "g.jsonl"]).judges
    assert (judge.shares[FLIPPED].count, judge.shares[FLIPPED].total) == (2, 2)


def test_a_system_with_the_name_of_a_repeat_is_another_system(tmp_path: Path) -> None:
    repeat = [game("a", "b", "A", repeat_a=1, order=1), game("b", "a", "B", repeat_b=1, order=2)]
    other = [game("a-run-1", "b", "B", order=1), game("b", "a-run-1", "A", order=2)]
    mixed = judged_games([games_file(tmp_path / "g.jsonl", {"1": [repeat[0], other[0], *other, *repeat]})])
    assert [outcome[1:4] for outcome in mixed.outcomes] == [("a-run-1", "b", 0.0), ("a", "b", 1.0)]
    crossed = judged_games([games_file(tmp_path / "c.jsonl", {"1": [repeat[0], other[1]]})])
    assert (crossed.outcomes, crossed.both_orders, crossed.ungraded) == ([], 0, 2)
    files = [
        games_file(tmp_path / f"{n}.jsonl", {"1": [each]}) for n, each in enumerate((repeat[0], other[0]))
    ]
    assert judged_games(files).copies == 0


def test_a_game_whose_other_order_is_missing_is_ungraded(tmp_path: Path) -> None:
    games = [game("a", "b", "A", order=1), game("a", "c", "A", order=1), game("c", "a", "B", order=2)]
    found = judged_games([games_file(tmp_path / "g.jsonl", {"1": games})])

    assert [outcome[1:4] for outcome in found.outcomes] == [("a", "c", 1.0)]
    assert (found.ungraded, found.systems) == (1, ["a", "b", "c"])


def test_a_judge_is_selected(tmp_path: Path) -> None:
    sets = [game_set([game("a", "b", "A")], "x"), game_set([game("a", "b", "B")], "y"),
            game_set([game("a", "b", "C")], "y", "Q")]  # fmt: skip
    path = games_file(tmp_path / "g.jsonl", {"1": sets})

    assert [row[3] for row in scores(path, AnswerFilter("x"))] == [1.0]
    assert [row[3] for row in scores(path, AnswerFilter("y", "Q"))] == [0.5]
    with pytest.raises(SelectionError) as error:
        judged_games([path])
    assert str(error.value) == (
        f"{path} has games by several judges; choose one: --grader 'x' --prompt 'P'; --grader 'y' "
        "--prompt 'P'; --grader 'y' --prompt 'Q'."
    )


def test_a_version_of_the_prompt_is_selected(tmp_path: Path) -> None:
    sets = [
        game_set([game("a", "b", winner)], version=version) for winner, version in (("A", "x1"), ("B", "x2"))
    ]
    path = games_file(tmp_path / "g.jsonl", {"1": sets})

    with pytest.raises(SelectionError, match="choose one with --grades hash: x1, x2"):
        judged_games([path])
    assert [row[3] for row in scores(path, AnswerFilter(prompt_hash="x2"))] == [0.0]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (AnswerFilter("other"), "the options select no games"),
        (AnswerFilter(systems=["a", "z"]), "'z' of --system plays no games in"),
        (AnswerFilter(systems=["a"]), "the options select no games"),
    ],
)
def test_selections_without_games(selection: AnswerFilter, message: str, tmp_path: Path) -> None:
    path = games_file(tmp_path / "g.jsonl", {"1": [game("a", "b", "A")]})
    with pytest.raises(SelectionError, match=message):
        judged_games([path], selection)


def test_reserved_names(tmp_path: Path) -> None:
    with pytest.raises(SelectionError, match="'_overall_' is reserved"):
        judged_games([games_file(tmp_path / "g.jsonl", {"1": [game("_overall_", "b", "A")]})])


def test_games_of_ragelo(tmp_path: Path) -> None:
    csv, lines = tmp_path / "g.csv", tmp_path / "r.jsonl"
    csv.write_text("qid,agent_a,agent_b,answer\n1,a,b,A\n2,a,b,C\n2,b,a,\n")
    lines.write_text(
        '{"qid": "1", "agent_a": "a", "agent_b": "b", "evaluator_name": "pairwise", "exception": null,'
        ' "raw_answer": "text", "answer": {"winner": "B"}}\n'
    )

    found = judged_games([csv])
    assert [outcome[:4] for outcome in found.outcomes] == [("1", "a", "b", 1.0), ("2", "a", "b", 0.5)]
    assert (found.ungraded, found.judge.model) == (1, "(no model)")
    assert [outcome.score for outcome in judged_games([lines]).outcomes] == [0.0]
    assert judged_games([lines]).judge.model == "pairwise"
