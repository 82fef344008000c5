"""``exam-pp validate`` of games files, alone and with the passages file of their answers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from exam_pp.cli.main import cli
from exam_pp.phases.validation.validate import validate
from tests.conftest import passage

Write = Callable[[str, list[Any]], Path]


def game(one: str = "x", two: str = "y", winner: str | None = "A", **keys: Any) -> dict[str, Any]:
    return {"system_a": one, "system_b": two, "winner": winner, **keys}


def query(*games: dict[str, Any], query_id: str = "q", **keys: Any) -> dict[str, Any]:
    return {"query_id": query_id, "game_sets": [{"llm": "judge", "games": [*games], **keys}]}


BOTH = (game(order=1, words_a=3, words_b=4), game("y", "x", "B", order=2, words_a=4, words_b=3))


def findings(path: Path, **options: Any) -> list[tuple[str, str, int | None, str]]:
    return [(f.level, f.check, f.line, f"{f.where}: {f.message}") for f in validate([path], **options).kept]


def test_valid_games_have_no_findings(write_jsonl: Write) -> None:
    others = (
        game(repeat_a=1),
        game(repeat_a=2),
        game("y", "x"),
        game("x", "z", None, llm_response_error={"a": 1}),
    )
    path = write_jsonl("x.games.jsonl", [query(*BOTH), query(*others, query_id="r")])
    found = validate([path])
    assert found.kept == []
    assert found.files == [(str(path), "games", "2 queries, 6 games, 1 judge")]


@pytest.mark.parametrize(
    ("line", "level", "check", "message"),
    [
        (query(game(), game()), "warning", "repeated-game", "q, judge: has x against y 2 times"),
        (query(BOTH[0], BOTH[0], BOTH[1]), "warning", "repeated-game", "x against y in order 1 2 times"),
        (query(BOTH[0]), "warning", "missing-order",
         "has x against y in order 1, but not y against x in order 2"),
        (query(BOTH[1]), "warning", "missing-order",
         "has y against x in order 2, but not x against y in order 1"),
        (query(game(winner=None)), "warning", "ungraded", "x against y has neither a winner nor an error"),
        (query(BOTH[0], BOTH[1] | {"words_b": 9}), "warning", "word-counts", "answer of x has 3 and 9 words"),
        (query(), "warning", "empty", "query q: has no games"),
        (query(game(winner="D")), "error", "format", "winner: input should be 'A', 'B' or 'C'"),
        (query(game("y", "y")), "error", "format", "a game needs two different systems"),
        (query(game(order=3)), "error", "format", "order: input should be 1 or 2"),
        ({"query_id": "q", "game_sets": [{"games": [{"system_a": "x"}]}]}, "error", "format", "system_b"),
    ],
)  # fmt: skip
def test_each_check(line: Any, level: str, check: str, message: str, write_jsonl: Write) -> None:
    path = write_jsonl("x.games.jsonl", [query(*BOTH, query_id="first"), line, query(*BOTH, query_id="last")])
    ((found_level, found_check, number, text),) = findings(path)
    assert (found_level, found_check, number) == (level, check, 2)
    assert message in text


def test_an_order_counts_for_its_judge_and_prompt_only(write_jsonl: Write) -> None:
    sets = [
        {"llm": model, "prompt_info": {"prompt_class": "P", "prompt_hash": version}, "games": [one]}
        for model, version, one in (("m", "1", BOTH[0]), ("m", "2", BOTH[1]), ("n", "1", BOTH[1]))
    ]
    path = write_jsonl("x.games.jsonl", [{"query_id": "q", "game_sets": sets}])
    assert [(check, text.split(":")[0]) for _, check, _, text in findings(path)] == [
        ("missing-order", "query q, m P"), ("missing-order", "query q, m P"),
        ("missing-order", "query q, n P"),
    ]  # fmt: skip


def test_a_query_on_two_lines_and_a_key_twice(tmp_path: Path) -> None:
    path = tmp_path / "x.games.jsonl"
    line = json.dumps(query(*BOTH))
    twice = line.replace('"llm"', '"games": [], "llm"')
    path.write_text(f"{line}\n{line}\n{twice}\n")
    assert findings(path) == [
        ("error", "duplicate-query", 2, "query q: is also on line 1; exam-pp merge joins games files"),
        ("error", "duplicate-key", 3, ": has the key 'games' twice in one object"),
    ]


def answered(system: str, **keys: Any) -> dict[str, Any]:
    entry = {"method": system, "paragraphId": f"{system}/q#1", "queryId": "q", "rank": 1, "score": 1.0}
    return passage(f"{system}/q#1", paragraph_data={"judgments": [], "rankings": [entry | keys]})


def test_systems_must_have_answered_the_query(write_jsonl: Write) -> None:
    passages = write_jsonl(
        "passages.jsonl", [["q", [answered("x"), answered("rag", repeat=2, role="answer")]]]
    )
    games = write_jsonl(
        "x.games.jsonl",
        [query(game("x", "rag", repeat_b=2), game("x", "gone")), query(game("x", "rag"), query_id="r")],
    )
    assert findings(games) == []
    assert findings(games, passages=passages) == [
        ("error", "unknown-system", 1, f"query q: the system gone has games, but no answer in {passages}"),
        ("error", "unknown-system", 2, f"query r: is not in {passages}, so its systems have no answers"),
    ]
    done = CliRunner().invoke(cli, ["validate", str(games), "--passages", str(passages)])
    assert done.exit_code == 1
    assert "unknown-system" in done.stdout
