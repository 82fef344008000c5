"""Games files and RAGElo's games: every field survives a conversion or is counted as dropped."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exam_pp.formats.base import format_of
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.store.games_files import read_games

texts = st.text('aé. ,"\n', min_size=1, max_size=8)
names = st.text("ab1:_-", min_size=1, max_size=5)


def test_ragelo_games_become_a_games_file(
    write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path
) -> None:
    """The evaluator is the model, the exception a failure, and the structured answer a key of its own."""
    lines: list[dict[str, Any]] = [
        {"qid": "q1", "agent_a": "x", "agent_b": "y", "evaluator_name": "pairwise", "raw_answer": "So [[B]]",
         "answer": {"winner": "B", "differences": "y cites"}, "relevance": 2, "seed": 7, "order": 1},
        {"qid": "q2", "agent_a": "x", "agent_b": "y", "answer": "C"},
        {"qid": "q1", "agent_a": "y", "agent_b": "x", "evaluator_name": "pairwise", "exception": "timeout"},
    ]  # fmt: skip
    source, out, back = write_jsonl("g.jsonl", lines), tmp_path / "x.games.jsonl.gz", tmp_path / "back.jsonl"
    dropped = convert(Conversion(source, out, "games"))
    assert dropped.counts == {"field 'order'": 1}, "a key of games files with another meaning"
    assert format_of(out).name == "games"
    first, second = read_games(out)
    assert [set_.model_dump(exclude_unset=True) for set_ in first.game_sets] == [
        {"model": "pairwise", "games": [
            {"system_a": "x", "system_b": "y", "winner": "B", "answer": "So [[B]]", "relevance": 2, "seed": 7,
             "ragelo_evaluation": {"differences": "y cites"}},
            {"system_a": "y", "system_b": "x", "error": {"failure_reason": "timeout"}},
        ]},
    ]  # fmt: skip
    assert (second.query_id, second.game_sets[0].model, second.game_sets[0].games[0].winner) == (
        "q2",
        None,
        "C",
    )
    assert not convert(Conversion(out, back, "ragelo-games-jsonl"))
    first_line, second_line, third_line = map(json.loads, back.read_text().splitlines())
    assert first_line == {key: value for key, value in lines[0].items() if key != "order"}
    assert second_line == lines[2]
    assert third_line == {**lines[1], "answer": {"winner": "C"}}


ROW_KEY_OF = {
    "query texts": "query_text",
    "model options": "llm_options",
    "prompt descriptions": "prompt_info",
    "prompt types": "prompt_type",
    "details of errors": "llm_response_error",
    "reasons of errors that are not text": "llm_response_error",
    "repeats of systems": "repeats",
    "field 'differences'": "ragelo_evaluation",
}
optional: Any = {
    "winner": st.sampled_from(["A", "B", "C"]), "order": st.sampled_from([1, 2]),
    "decided_by": st.just("reply"),
    "words_a": st.integers(0, 9), "words_b": st.integers(0, 9), "answer": texts,
    "tokens_cut": st.integers(1, 9),
    "comment": texts, "repeat_a": st.integers(1, 2), "seed": st.integers(0, 9),
    "relevance": st.integers(0, 3),
    "llm_response_error": st.fixed_dictionaries(
        {}, optional={"failure_reason": names | st.just(["odd"]), "prompt": texts, "response": texts}
    ),
    "ragelo_evaluation": st.fixed_dictionaries({"differences": texts}), "raw_answer": texts, "qid": names,
}  # fmt: skip
own_games = st.tuples(
    st.lists(names.filter(lambda name: "run" not in name), min_size=2, max_size=2, unique=True),
    st.fixed_dictionaries({}, optional=optional),
).map(lambda pair: {"system_a": pair[0][0], "system_b": pair[0][1], **pair[1]})
game_sets = st.fixed_dictionaries(
    {"games": st.lists(own_games, max_size=2)},
    optional={"llm": names, "llm_options": st.just({"seed": 1}),
              "prompt_info": st.just({"prompt_class": "P"}),
              "prompt_type": st.just("pairwise"), "mine": names},
)  # fmt: skip
own_queries = st.fixed_dictionaries(
    {"query_id": names, "game_sets": st.lists(game_sets, max_size=2)},
    optional={"query_text": texts, "mine": names},
)


def game_rows(path: Path, dropped: dict[str, int]) -> list[str]:
    """The games with the keys of their query and set, without the dropped keys."""
    gone = {ROW_KEY_OF.get(name, name.removeprefix("field '").removesuffix("'")) for name in dropped}
    rows = []
    for query in read_games(path):
        of_query = query.model_dump(by_alias=True, exclude_unset=True, exclude={"game_sets"})
        for of_judge in query.game_sets:
            of_set = of_judge.model_dump(by_alias=True, exclude_unset=True, exclude={"games"})
            for game in of_judge.games:
                row = {**of_query, **of_set, **game.model_dump(by_alias=True, exclude_unset=True)}
                row |= {"system_a": str(game.a)} if "repeats" in gone else {}
                gone |= {"repeat_a"} if "repeats" in gone else set()
                kept = {key: value for key, value in row.items() if key not in gone and value != {}}
                rows.append(json.dumps(kept, sort_keys=True, default=str))
    return sorted(rows)


@given(st.lists(own_queries, min_size=1, max_size=2, unique_by=lambda query: query["query_id"]))
def test_games_survive_except_for_dropped_fields(queries: list[Any]) -> None:
    form = "ragelo-games-jsonl"
    with tempfile.TemporaryDirectory() as name:
        source, there, back = (Path(name) / part for part in ("a.jsonl", "b", "c.jsonl"))
        source.write_text("".join(json.dumps(query) + "\n" for query in queries))
        dropped = convert(Conversion(source, there, form)).counts
        if not any(of_judge["games"] for query in queries for of_judge in query["game_sets"]):
            assert dropped["queries without games"] == len(queries)
            return
        assert not convert(Conversion(there, back, "games", form))
        assert game_rows(back, dropped) == game_rows(source, dropped)
