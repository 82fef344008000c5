"""Decisions of people as games: winners by system, checks of the whole file, and existing games."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.errors import DataError
from exam_pp.games import QueryGames
from exam_pp.plugins.games.decisions import apply_games
from exam_pp.store.games_files import read_games, write_games
from tests.conftest import data_error
from tests.plugins.games.answers import answers_file, decided, game_edits, games_in, queries_file


def games_of(path: Path) -> dict[tuple[str, str | None], list[dict[str, Any]]]:
    """Query and judge to games as in the file."""
    return {
        (query.query_id, game_set.model): [game.model_dump(exclude_unset=True) for game in game_set.games]
        for query in read_games(path)
        for game_set in query.game_sets
    }


def test_decisions_become_games(tmp_path: Path) -> None:
    passages = answers_file(tmp_path)
    first, second, third, *_, last = games_in(passages, seed=4)
    edits = game_edits(
        tmp_path, decided(last, "C"), decided(first, "A", comment="clearer"), decided(second, None),
        decided(third, "B"),
    )  # fmt: skip
    output = tmp_path / "games.jsonl"
    summary = apply_games(passages, [edits], output, seed=4, queries=queries_file(tmp_path))
    assert list(summary.lines()) == [
        "3 games added as human:ana, 1 of them a tie.",
        "1 skipped game was not added.",
    ]
    q1, q2 = (json.loads(line) for line in output.read_text().splitlines())
    words = {f"sys-{s}": 4 + n for n, s in enumerate("uvw", 1)}
    assert q1 == {
        "query_id": "q1", "query_text": "What is q1?", "game_sets": [
            {"llm": "human:ana", "prompt_type": "game", "games": [
                {"system_a": first.a.system, "system_b": first.b.system, "winner": "A",
                 "decided_by": "person", "words_a": words[first.a.system], "words_b": words[first.b.system],
                 "comment": "clearer"},
                {"system_a": third.a.system, "system_b": third.b.system, "winner": "B",
                 "decided_by": "person", "words_a": words[third.a.system], "words_b": words[third.b.system]},
            ]},
        ],
    }  # fmt: skip
    assert (q2["query_id"], q2["game_sets"][0]["games"][0]["winner"]) == ("q2", "C")


def test_games_are_added_to_those_of_a_file(tmp_path: Path) -> None:
    """Games of models stay; a later decision of a reviewer replaces the earlier one in its place."""
    passages = answers_file(tmp_path)
    first, second, third, fourth, *_ = games_in(passages)
    known = [
        {
            "query_id": "q0",
            "extra": 1,
            "game_sets": [{"llm": "judge", "games": [{"system_a": "s", "system_b": "t"}]}],
        },
        {
            "query_id": "q1",
            "query_text": "Known text",
            "game_sets": [
                {
                    "llm": "judge",
                    "games": [
                        {"system_a": first.a.system, "system_b": first.b.system, "winner": "A"},
                        {"system_a": second.b.system, "system_b": second.a.system, "winner": "A", "order": 1},
                        {"system_a": second.a.system, "system_b": second.b.system, "winner": "A", "order": 2},
                    ],
                },
                {
                    "llm": "human:ana",
                    "games": [
                        {"system_a": first.b.system, "system_b": first.a.system, "winner": "A"},
                        {"system_a": third.a.system, "system_b": third.b.system, "winner": "C"},
                    ],
                },
            ],
        },
    ]
    games = tmp_path / "games.jsonl"
    write_games(map(QueryGames.model_validate, known), games)
    edits = game_edits(tmp_path, *(decided(game, "A") for game in (first, second, fourth)))
    output = tmp_path / "all.jsonl"
    summary = apply_games(passages, [edits], output, games=games)
    assert list(summary.lines()) == [
        "3 games added as human:ana.",
        "1 game has another winner than in the games file: the later one counts.",
    ]
    lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [line["query_id"] for line in lines] == ["q0", "q1", "q2"]
    assert lines[0] == known[0]
    assert lines[1]["query_text"] == "Known text"
    assert lines[1]["game_sets"][0] == known[1]["game_sets"][0]  # type: ignore[index]
    own = lines[1]["game_sets"][1]["games"]
    assert [(game["system_a"], game["winner"]) for game in own] == [
        (first.a.system, "A"),
        (third.a.system, "C"),
        (second.a.system, "A"),
    ]
    again = tmp_path / "again.jsonl"
    assert apply_games(passages, [edits], again, games=output).reviewers["human:ana"]["replaced"] == 0
    assert again.read_bytes() == output.read_bytes()


def test_several_reviewers(tmp_path: Path) -> None:
    passages = answers_file(tmp_path)
    first, *_ = games_in(passages)
    ana = game_edits(tmp_path, decided(first, "A"))
    bo = game_edits(tmp_path, decided(first, "B"), name="bo.json", reviewer=" human:bo  b. ")
    apply_games(passages, [ana, bo], tmp_path / "games.jsonl")
    assert list(games_of(tmp_path / "games.jsonl")) == [("q1", "human:ana"), ("q1", "human:bo b.")]
    apply_games(passages, [ana], tmp_path / "cleo.jsonl", reviewer="cleo")
    assert list(games_of(tmp_path / "cleo.jsonl")) == [("q1", "human:cleo")]


KNOWN, SECOND = "known", "second"  # the first two games, as decisions


@pytest.mark.parametrize(
    ("decisions", "seed", "field", "about"),
    [
        ([(KNOWN, {}), (SECOND, {"id": "0123"})], 0, "games", "decides 1 game (0123) of the query 'q1' that"),
        ([(KNOWN, {})], 1, "games", "--seed 1 do not give"),
        ([(KNOWN, {}), (SECOND, {"winner": "B"})], 1, "games", "2 games"),
        ([(KNOWN, {"query_id": "q2"})], 0, "games", "of the query 'q2'"),
        ([(KNOWN, {"query_id": "q9"})], 0, "games", "of the query 'q9'"),
        ([(KNOWN, {}), (SECOND, {}), (KNOWN, {"winner": "B"})], 0, "games.3", "as 'B', but"),
        ([(KNOWN, {"winner": "D"})], 0, "games.1.winner", ""),
    ],
)
def test_decisions_are_checked_before_any_is_taken(
    decisions: list[tuple[str, dict[str, Any]]], seed: int, field: str, about: str, tmp_path: Path
) -> None:
    passages = answers_file(tmp_path)
    first, second, *_ = games_in(passages)
    known = {KNOWN: decided(first, "A"), SECOND: decided(second, "A")}
    edits = game_edits(tmp_path, *(known[name] | change for name, change in decisions))
    (tmp_path / "games.jsonl").write_text("kept")
    with data_error(edits, field=field, about=about):
        apply_games(passages, [edits], tmp_path / "games.jsonl", seed=seed)
    assert (tmp_path / "games.jsonl").read_text() == "kept"


def test_a_changed_answer_has_other_games(tmp_path: Path) -> None:
    passages = answers_file(tmp_path)
    edits = game_edits(tmp_path, *(decided(game, "A") for game in games_in(passages)[:2]))
    passages.write_text(passages.read_text().replace("u says q1", "u sings q1"))
    with data_error(edits, field="games", about="do not give"):
        apply_games(passages, [edits], tmp_path / "games.jsonl")


def test_contradictions_between_files_of_a_reviewer(tmp_path: Path) -> None:
    passages = answers_file(tmp_path)
    first, second, *_ = games_in(passages)
    one = game_edits(tmp_path, decided(first, "A"), decided(second, None))
    other = game_edits(tmp_path, decided(first, "B"), name="other.json")
    with pytest.raises(DataError, match=r"but .*edits.json as 'A'; remove one of them"):
        apply_games(passages, [one, other], tmp_path / "out.jsonl")
    # A skipped game contradicts nothing.
    other = game_edits(tmp_path, decided(first, None), decided(second, "C"), name="other.json")
    apply_games(passages, [one, other], tmp_path / "out.jsonl")
    (games,) = games_of(tmp_path / "out.jsonl").values()
    assert [game["winner"] for game in games] == ["A", "C"]


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    passages = answers_file(tmp_path)
    queries_file(tmp_path)
    game_edits(tmp_path, *(decided(game, "A") for game in games_in(passages, seed=2)))
    for line in (
        "review-games answers.jsonl --queries queries.tsv --seed 2 -o page.html",
        "apply answers.jsonl edits.json --seed 2 --queries queries.tsv -o games.jsonl.gz",
        "review-games answers.jsonl --games games.jsonl.gz --grader human:ana --seed 2 -o again.html",
    ):
        main(["-q", *shlex.split(line)])
    pages = [(tmp_path / name).read_text() for name in ("page.html", "again.html")]
    assert pages[0] == pages[1], "texts of queries are in the games file, places depend on the seed"
