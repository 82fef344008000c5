"""Games files: round trips and the errors of their reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.errors import DataError
from exam_pp.games import WINNERS, Game, GameSet, QueryGames
from exam_pp.store.games_files import read_games, write_games

LINE = '{"query_id": "q1", "game_sets": [{"llm": "judge", "games": [%s]}]}\n'
GAME = '{"system_a": "x", "system_b": "y", "winner": "A"}'


@given(winner=st.sampled_from([*WINNERS, None]), words=st.integers(0, 10**6), answer=st.text())
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, winner: str, words: int, answer: str) -> None:
    path = tmp_path_factory.mktemp("games") / "x.games.jsonl.gz"
    game = Game.model_validate(
        {"system_a": "x", "system_b": "y", "winner": winner, "words_a": words, "answer": answer, "more": [1]}
    )
    queries = [QueryGames(query_id="q", game_sets=[GameSet(model="judge", games=[game])])]
    write_games(queries, path)
    assert list(read_games(path)) == queries


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no games"),
        (LINE % GAME * 2, "line 2.*the query 'q1' is also on line 1"),
        (LINE % GAME.replace('"A"', '"D"'), "line 1.*winner.*'A', 'B' or 'C'"),
        (LINE % GAME.replace('"y"', '"x"'), "needs two different systems"),
        (LINE % '{"system_a": "x"}', "system_b.*is missing"),
    ],
)
def test_errors_name_the_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "games.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        list(read_games(path))
