"""Data of the page of games: which games, in which places, and what the page does not tell."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import ExamError, SelectionError
from exam_pp.games import QueryGames
from exam_pp.plugins.games.page import GamesMaterial, render_games, review_games
from exam_pp.roles import System
from exam_pp.store.games_files import write_games
from tests.plugins.games.answers import (
    answers_file,
    document,
    games_in,
    part,
    queries_file,
    write_lines,
)
from tests.reports.review.test_review_page import HOSTILE, check_policy, check_script, inventory
from tests.review_pages import blocks


def shown(material: GamesMaterial) -> dict[str, tuple[str, str]]:
    """Id of a game to the texts of the answers in its places A and B."""
    texts: dict[str, tuple[str, str]] = {}
    for query, chunk in zip(material.head["queries"], material.queries, strict=True):
        for game_id, game in zip(query["games"], chunk["games"], strict=True):
            a, b = (" ".join(chunk["texts"][index] for index, _ in game[place]) for place in "ab")
            texts[game_id] = (a, b)
    return texts


def material(folder: Path, passages: Path, **options: Any) -> GamesMaterial:
    return review_games(passages, queries_file=queries_file(folder), **options)


def test_the_page_tells_no_system(tmp_path: Path) -> None:
    """Neither in its source nor in its data, and its texts are in no order of systems."""
    lines = [
        [
            f"q{n}",
            [
                part(f"q{n}", "sys-first", f"one {n}", citations=[f"secret-doc-{n}"]),
                part(f"q{n}", "sys-second", f"two {n}"),
                document(f"q{n}", f"secret-doc-{n}", f"text {n}", {"sys-first": 1}),
            ],
        ]
        for n in range(30)
    ]
    passages = write_lines(tmp_path / "answers.jsonl", lines)
    queries = queries_file(tmp_path, *(f"q{n}" for n in range(30)))
    page = render_games(review_games(passages, queries_file=queries))
    packed = json.dumps(blocks(page))
    for secret in ("sys-first", "sys-second", "secret-doc", "seed"):
        assert secret not in page.replace("--seed SEED", "")
        assert secret not in packed
    firsts = Counter(blocks(page)[f"query-{n}"]["texts"][0].split()[0] for n in range(30))
    assert min(firsts["one"], firsts["two"]) > 5


def test_options_choose_queries_and_systems(tmp_path: Path) -> None:
    got = shown(material(tmp_path, answers_file(tmp_path), queries=["q2"], systems=["sys-u", "sys-w"]))
    assert [sorted(pair) for pair in got.values()] == [["u says q2 is u.", "w says q2 is w w w."]]


@pytest.mark.parametrize(
    ("options", "texts", "message"),
    [
        ({"queries": ["q9"]}, ["q1", "q2"], "has no query 'q9'"),
        ({"systems": ["sys-n"]}, ["q1", "q2"], r"no answers of the system 'sys-n'; .* sys-u, sys-v, sys-w"),
        ({"systems": ["sys-u"]}, ["q1", "q2"], "no query with different answers of two systems"),
        ({}, None, "--queries"),
        ({}, ["q1"], r"queries.tsv has no text of 1 query \(q2\)"),
    ],
)
def test_options_that_choose_no_games(
    options: Any, texts: list[str] | None, message: str, tmp_path: Path
) -> None:
    queries = texts and queries_file(tmp_path, *texts)
    with pytest.raises(SelectionError, match=message):
        review_games(answers_file(tmp_path), queries_file=queries or None, **options)


def test_answers_that_nobody_can_compare_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    texts = {"s": "same", "t": "same", "empty": " ", "u": "other"}
    parts = [part("q1", system, text) for system, text in texts.items()]
    passages = write_lines(tmp_path / "answers.jsonl", [["q1", parts]])
    with caplog.at_level("INFO"):
        got = shown(material(tmp_path, passages))
    assert sorted(map(sorted, got.values())) == [["other", "same"], ["other", "same"]]
    assert "4 pairs of answers are left out" in caplog.text


def test_passages_are_the_cited_ones_and_the_best_retrieved_ones(tmp_path: Path) -> None:
    documents = [document("q1", f"d{n}", f"text {n}", {"s": n}) for n in range(1, 6)]
    parts = [
        part("q1", "s", "one", citations=["d5", "gone", "d1"]),
        part("q1", "t", "two", citations=["d1"]),
        document("q1", "d9", " ", {"t": 1}),
    ]
    passages = write_lines(tmp_path / "answers.jsonl", [["q1", [*documents, *parts]]])
    (chunk,) = material(tmp_path, passages, top=2).queries
    (game,) = chunk["games"]
    texts = [chunk["texts"][index] for index in game["passages"]]
    assert sorted(texts) == ["text 1", "text 2", "text 5"]
    assert texts[2] == "text 2", "cited passages come first"
    cited = {
        chunk["texts"][index]: [texts[number] for number in numbers]
        for place in "ab"
        for index, numbers in game[place]
    }
    assert cited == {"one": ["text 5", "text 1"], "two": ["text 1"]}
    (chunk,) = material(tmp_path, passages, top=0).queries
    assert len(chunk["games"][0]["passages"]) == 2


# The games of a model


def judged(folder: Path, *games: tuple[str, str, str, str | None], model: str = "judge") -> Path:
    """A games file; each game is a query, both systems, and the winner."""
    by_query: dict[str, list[dict[str, Any]]] = {}
    for query_id, a, b, winner in games:
        by_query.setdefault(query_id, []).append({"system_a": a, "system_b": b, "winner": winner})
    lines = [
        {"query_id": q, "query_text": f"Text of {q}", "game_sets": [{"llm": model, "games": of}]}
        for q, of in by_query.items()
    ]
    write_games(map(QueryGames.model_validate, lines), folder / "games.jsonl")
    return folder / "games.jsonl"


def test_exactly_the_games_of_a_model(tmp_path: Path) -> None:
    """A game in both orders is shown once, and its place does not follow that of the model."""
    passages = answers_file(tmp_path)
    games = judged(tmp_path, ("q1", "sys-u", "sys-v", "A"), ("q1", "sys-v", "sys-u", None),
                   ("q1", "sys-w", "sys-v", None))  # fmt: skip
    got = review_games(passages, games=games)
    everything = {game.game_id: game.pair for game in games_in(passages)}
    assert {everything[game_id] for game_id in shown(got)} == {
        frozenset({System("sys-u"), System("sys-v")}),
        frozenset({System("sys-v"), System("sys-w")}),
    }
    assert got.head["queries"][0]["text"] == "Text of q1"
    ungraded = review_games(passages, games=games, only_ungraded=True)
    assert [everything[game_id] for game_id in shown(ungraded)] == [
        frozenset({System("sys-v"), System("sys-w")})
    ]
    assert (
        review_games(passages, games=games, queries_file=queries_file(tmp_path)).head["queries"][0]["text"]
        == "What is q1?"
    )


def test_games_of_people_count_only_by_name(tmp_path: Path) -> None:
    passages = answers_file(tmp_path)
    games = judged(tmp_path, ("q1", "sys-u", "sys-v", "A"), model="human:bo")
    with pytest.raises(SelectionError, match="no games that a person can compare"):
        review_games(passages, games=games)
    assert len(shown(review_games(passages, games=games, grader="human:bo"))) == 1
    with pytest.raises(SelectionError, match=r"no games of 'x' \(--grader\); its judges: human:bo"):
        review_games(passages, games=games, grader="x")


@pytest.mark.parametrize(
    ("game", "only_ungraded", "message"),
    [
        (("q1", "sys-u", "sys-n", "A"), False, "the system 'sys-n', which has no answer in"),
        (("q7", "sys-u", "sys-v", "A"), False, r"has games of 1 query \(q7\) not in"),
        (("q1", "sys-u", "sys-v", "A"), True, "--only ungraded"),
    ],
)
def test_games_that_do_not_fit_the_answers(
    game: Any, only_ungraded: bool, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ExamError, match=message):
        review_games(answers_file(tmp_path), games=judged(tmp_path, game), only_ungraded=only_ungraded)


PAGE = GamesMaterial(
    {
        "passages": "p.jsonl",
        "page": "0",
        "reviewer": "",
        "queries": [{"id": "q", "text": "t", "games": ["0"]}],
    },
    [{"games": [{"a": [[0, []]], "b": [[1, []]], "passages": []}], "texts": ["one", "two"]}],
)


def test_texts_of_games_cannot_break_out() -> None:
    hostile = GamesMaterial(
        {
            **PAGE.head,
            "reviewer": HOSTILE,
            "queries": [{"id": HOSTILE, "text": HOSTILE, "games": [HOSTILE]}],
        },
        [{"games": [{"a": [[0, []]], "b": [[1, []]], "passages": [0]}], "texts": [HOSTILE, "other"]}],
    )
    page = render_games(hostile)
    assert inventory(page).tags == inventory(render_games(PAGE)).tags
    assert "alert(1)" not in page
    assert blocks(page)["query-0"] == hostile.queries[0]


def test_the_page_has_no_markup_of_its_own_and_no_connection() -> None:
    check_policy(render_games(PAGE))
    check_script(render_games(PAGE))
