"""Commands for parts of games files: filter and merge."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main

Write = Callable[[str, list[Any]], Path]


def game(one: str, two: str, winner: str | None = "A", **keys: Any) -> dict[str, Any]:
    return {"system_a": one, "system_b": two, "winner": winner, **keys}


def of_judge(
    *games: dict[str, Any], model: str = "m", prompt: str | None = "P", **keys: Any
) -> dict[str, Any]:
    info = {} if prompt is None else {"prompt_info": {"prompt_class": prompt, "prompt_hash": "1"}}
    return {"llm": model, **info, **keys, "games": [*games]}


def query(*sets: dict[str, Any], query_id: str = "q1", **keys: Any) -> dict[str, Any]:
    return {"query_id": query_id, **keys, "game_sets": [*sets]}


LINES = [
    query(
        of_judge(game("x", "y", answer="So [[A]]"), game("y", "z", "C"), game("x", "z", "B")),
        of_judge(game("x", "y", comment="close"), model="human:ann", prompt=None),
        query_text="a query", mine=[1],
    ),
    query(of_judge(game("x", "y", repeat_a=2), mine={"a": 1}), query_id="q2"),
]  # fmt: skip


@pytest.fixture
def source(write_jsonl: Write) -> Path:
    return write_jsonl("all.games.jsonl", LINES)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out.games.jsonl"


def run(*arguments: str | Path) -> None:
    main(["-q", *map(str, arguments)])


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def pairs(path: Path) -> list[tuple[str, str, str, str]]:
    return [
        (line["query_id"], a_set["llm"], one["system_a"], one["system_b"])
        for line in read(path)
        for a_set in line["game_sets"]
        for one in a_set["games"]
    ]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (["--query", "q2"], [("q2", "m", "x", "y")]),
        (["--system", "z"], [("q1", "m", "y", "z"), ("q1", "m", "x", "z")]),
        (["--system", "x", "--system", "z"], [("q1", "m", "x", "z")]),
        (["--grader", "human:ann"], [("q1", "human:ann", "x", "y")]),
        (["--prompt", "P", "--query", "q2"], [("q2", "m", "x", "y")]),
        (["--grades", "hash=1", "--system", "z"], [("q1", "m", "y", "z"), ("q1", "m", "x", "z")]),
    ],
)
def test_filter(options: Sequence[str], kept: list[Any], source: Path, output: Path) -> None:
    run("filter", source, *options, "-o", output)
    assert pairs(output) == kept
    for line in read(output):
        (original,) = (one for one in LINES if one["query_id"] == line["query_id"])
        assert {**line, "game_sets": None} == {**original, "game_sets": None}, "other keys stay"


def test_rename(source: Path, output: Path) -> None:
    names = ["system=x=y", "system=y=x", "grader=m=judge", "prompt-class=P=Pairwise"]
    run("filter", source, *(f"--rename={name}" for name in names), "-o", output)
    assert pairs(output)[0] == ("q1", "judge", "y", "x")
    assert read(output)[0]["game_sets"][0]["prompt_info"] == {"prompt_class": "Pairwise", "prompt_hash": "1"}
    back = ["system=x=y", "system=y=x", "grader=judge=m", "prompt-class=Pairwise=P"]
    run("filter", output, *(f"--rename={name}" for name in back), "-o", output.with_name("back"))
    assert read(output.with_name("back")) == LINES


SECRETS = query(
    of_judge(
        game("x", "y", answer="secret reply", ragelo_evaluation={"differences": "secret reply"}),
        game("y", "x", None, llm_response_error={"failure_reason": "late", "response": "secret reply",
                                                 "prompt": "secret prompt"}),
    ),
    of_judge(game("x", "y"), model="human:ann", prompt=None),
    query_text="secret text",
)  # fmt: skip


def test_strip(write_jsonl: Write, output: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write_jsonl("s.games.jsonl", [SECRETS])

    def stripped(*parts: str) -> str:
        main(["filter", str(source), *(f"--remove={part}" for part in parts), "-o", str(output)])
        return capsys.readouterr().err

    assert "replies (3)" in stripped("replies")
    assert "secret reply" not in output.read_text()
    games = read(output)[0]["game_sets"][0]["games"]
    assert games == [game("x", "y"), game("y", "x", None, llm_response_error={
        "failure_reason": "late", "prompt": "secret prompt"})]  # fmt: skip
    assert "Removed: prompts (1), texts (1)." in stripped("texts")
    assert output.read_text().count("secret") == 3
    assert "prompts (1)" in stripped("prompts")
    assert "sets of human games (1)" in stripped("human")
    assert [a_set["llm"] for a_set in read(output)[0]["game_sets"]] == ["m"]
    run("filter", source, "--remove", "grades", "--grader", "m", "-o", output)
    assert [a_set["llm"] for a_set in read(output)[0]["game_sets"]] == ["human:ann"]


def test_merge_joins_shards_judges_and_new_games(
    write_jsonl: Write, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = write_jsonl("1.jsonl", [query(of_judge(game("x", "y")), query_text="text"), query(query_id="q3")])
    second = write_jsonl("2.jsonl", [
        query(of_judge(game("z", "x")), query_id="q2"),
        query(of_judge(game("x", "y"), game("x", "z", "C")),
              of_judge(game("x", "y", "B"), model="n"), mine=1),
    ])  # fmt: skip
    empty = first.with_name("empty.jsonl")
    empty.write_text("")
    main(["merge", str(first), str(second), str(empty), "-o", str(output)])
    log = capsys.readouterr().err
    assert "1 game is in several files and kept once." in log
    assert "Merged 3 files: 3 queries, 4 games." in log
    assert "empty.jsonl has no queries" in log
    assert read(output) == [
        query(of_judge(game("x", "y"), game("x", "z", "C")), of_judge(game("x", "y", "B"), model="n"),
              query_text="text", mine=1),
        query(query_id="q3"),
        query(of_judge(game("z", "x")), query_id="q2"),
    ]  # fmt: skip
    passages = write_jsonl("p.jsonl", [["q2", []], ["q1", []]])
    for like in (passages, write_jsonl("l.jsonl", [query(query_id="q2"), query(query_id="q1")])):
        run("merge", first, second, "--passages", like, "-o", output)
        assert [line["query_id"] for line in read(output)] == ["q2", "q1", "q3"]


def test_a_graded_game_replaces_an_ungraded_one(
    write_jsonl: Write, output: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = game("x", "y", None, llm_response_error={"failure_reason": "late"})
    files = [
        write_jsonl("1.jsonl", [query(of_judge(failed, game("x", "z", "B")))]),
        write_jsonl("2.jsonl", [query(of_judge(game("x", "y")))]),
    ]
    expected = {("x", "y", "A"), ("x", "z", "B")}
    for order in (files, files[::-1]):
        main(["merge", *map(str, order), "-o", str(output)])
        assert "1 ungraded game is replaced by the game of another file." in capsys.readouterr().err
        games = [one for a_set in read(output)[0]["game_sets"] for one in a_set["games"]]
        assert {(one["system_a"], one["system_b"], one["winner"]) for one in games} == expected
        assert len(games) == 2
