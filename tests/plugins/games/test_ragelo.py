"""The CSV files of RAGElo; expected numbers of the real files are counted with Python's csv module."""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.data_model import DirectGrade
from exam_pp.formats.base import format_of
from exam_pp.formats.tables import DOCUMENTS
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.plugins.games.ragelo import GameAnswer, RageloGame, _rating, passages_of, read_game_lines
from exam_pp.store.games_files import read_games
from exam_pp.store.parsing import write_records
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.tables import read_cells
from exam_pp.store.trec.answers import read_answer_table
from exam_pp.store.trec.queries import read_query_table
from tests.conftest import data_error

names = st.text("ab1_-é", min_size=1, max_size=5)
texts = st.text('aB1. ,"\n\u4e2d[]', max_size=12)


def file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "file.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_alternative_column_names_and_blanks_after_commas(tmp_path: Path) -> None:
    path = file(tmp_path, 'question_id, query\n0, "What is a, b\nand c?"\n1, More?\n')
    queries = read_query_table(path).values()
    assert [(query.query_id, query.query_text) for query in queries] == [
        ("0", "What is a, b\nand c?"),
        ("1", "More?"),
    ]


def test_documents_are_ranked_in_the_order_of_their_agent(tmp_path: Path) -> None:
    rows = "q,d1,One.,x,\nq,d2,Two.,y,kept\nq,d2,Two.,x,\nr,d1,One.,x,\nr,d3,Three.,,\n"
    path = file(tmp_path, f"qid,did,document,agent,note\n{rows}")
    unused: Counter[str] = Counter()
    cells = read_cells(path, DOCUMENTS, unused.update)
    first, second = passages_of(cells, path)
    assert [
        (p.passage_id, p.text, [(r.method, r.rank, r.score) for r in p.rankings]) for p in first.passages
    ] == [
        ("d1", "One.", [("x", 1, 2.0)]),
        ("d2", "Two.", [("y", 1, 1.0), ("x", 2, 1.0)]),
    ]
    assert [len(passage.rankings) for passage in second.passages] == [1, 0]
    assert unused == {"note": 1}


@pytest.mark.parametrize(
    ("text", "line", "field", "about"),
    [
        ("qid,agent\nq,a\n", 1, None, "'answer' (or answer_text, "),
        ("qid,agent,answer\nq,a,yes\n,a,no\n", 3, "qid", "empty"),
        ("qid,agent,answer\nq,a,yes\nq,a,no\n", 3, None, "'a' answers the query 'q' twice"),
        ("qid,agent,answer\nq,a,yes,more\n", 2, None, "more cells"),
        ("qid,agent,answer\nq,a,yes\nq,b\n", 3, None, "fewer cells"),
        ('qid,agent,answer\nq,a,"yes\n', 2, None, "CSV"),
        ("qid,agent,answer\n", None, None, "no rows"),
    ],
)
def test_errors_of_broken_files(
    text: str, line: int | None, field: str | None, about: str, tmp_path: Path
) -> None:
    path = file(tmp_path, text)
    with data_error(path, line, field, about=about):
        list(read_answer_table(path))


def test_a_document_has_one_text(tmp_path: Path) -> None:
    path = file(tmp_path, "qid,did,document\nq,d,One.\nq,d,Two.\n")
    with data_error(path, 3, about="'d'"):
        passages_of(read_cells(path, DOCUMENTS), path)


@pytest.mark.parametrize(
    ("header", "form"),
    [
        ("query_id,query", "ragelo-queries"),
        ("qid,query,date,author", "ragelo-queries"),
        ("query_id,agent,answer", "ragelo-answers"),
        ("qid,agent,answer,model", "ragelo-answers"),
        ("question_id,passage_id,document", "ragelo-documents"),
        ("query_id,system,answer,latency", "ragelo-answers"),
        ("query_id,system,text", "ragelo-answers"),
        ("query_id,text", "bank-csv"),
        ("query_id,doc_id,document,system,answer", "ragelo-documents"),
    ],
)
def test_names_of_ids_and_columns_of_metadata_are_known(header: str, form: str, tmp_path: Path) -> None:
    """RAGElo infers the columns of ids, and takes all columns that it does not know as metadata."""
    path = file(tmp_path, f"{header}\n" + ",".join(f"the {name}" for name in header.split(",")) + "\n")
    assert format_of(path).name == form


verdicts = st.sampled_from(["A", "B", "C", None])


@given(
    st.lists(
        st.builds(
            lambda key, pair, winner, raw, more: RageloGame(
                qid=key, agent_a=pair[0], agent_b=pair[1], raw_answer=raw, **more,
                answer=None if winner is None else GameAnswer(winner=winner),
            ),
            names, st.lists(names, min_size=2, max_size=2, unique=True), verdicts, texts,
            st.sampled_from([{}, {"evaluator_name": "pairwise"}, {"exception": "timeout"}, {"seed": 1}]),
        ),
        min_size=1, max_size=4,
    )
)  # fmt: skip
def test_games_of_ragelo_survive_except_for_dropped_fields(games: list[RageloGame]) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, there, back = (Path(name) / part for part in ("a.jsonl", "b.csv", "c.jsonl"))
        write_records(games, source)
        assert not convert(Conversion(source, there, "games"))
        assert not convert(Conversion(there, back, "ragelo-games-jsonl"))
        assert sorted(map(repr, read_game_lines(back))) == sorted(map(repr, games))


def test_labels_are_read_as_by_the_prompt(repository: Path) -> None:
    cases = json.loads((repository / "tests/prompts/cases/reasons.json").read_text(encoding="utf-8"))
    assert {reply: _rating(reply) for reply in cases} == cases


def test_reasonings_without_a_label_are_ungraded(tmp_path: Path) -> None:
    """Labels: RAGElo's paper, appendix A.1. Other evaluators answer with numbers."""
    rows = ["q,d1,The answer is 2,2", "q,d2,**Not relevant**: no.,", "q,d3,It is not very relevant,"]
    rows.append("q,d4,,")
    path = tmp_path / "r.csv"
    path.write_text("\n".join(["qid,did,raw_answer,answer", *rows, ""]))
    assert format_of(path).name == "ragelo-reasonings"
    assert not convert(Conversion(path, tmp_path / "r.jsonl", "graded"))
    (query,) = read_passages(tmp_path / "r.jsonl")
    grades = [next(passage.grade_sets()) for passage in query.passages]
    assert [grade.entry_ratings() for grade in grades] == [{"direct": 2}, {"direct": 0}, {}, {}]
    assert isinstance(grades[2], DirectGrade)
    assert grades[2].error is not None
    assert grades[2].error["response"] == "It is not very relevant"


def results_of_ragelo(winner: str, first: str, second: str) -> list[dict[str, Any]]:
    """Results of an experiment: of a document, of a game in both orders, of an answer, and ratings."""
    common = {"qid": "q1", "evaluator_name": "pairwise", "exception": None}
    game = {**common, "agent_a": "x", "agent_b": "y", "answer": {"winner": winner}}
    swapped = {"agent_a": "y", "agent_b": "x", "answer": {"winner": second}}
    return [
        {**common, "evaluator_name": "reasoner", "did": "d1", "answer": {"reasoning": "Why?", "score": 2}},
        {**game, "a_vs_b_result": {**game, "answer": {"winner": first}}, "b_vs_a_result": game | swapped},
        {**common, "evaluator_name": "custom_prompt", "agent": "x", "answer": {"score": 1}},
        {"evaluator_name": "EloTournament", "agents": ["x", "y"], "scores": {"x": 1016, "y": 984}},
    ]


def test_the_games_among_the_results_of_an_experiment_are_read(
    write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path
) -> None:
    """RAGElo 0.7 plays every game in both orders; a win and a tie are a win for it."""
    source = write_jsonl("exp_results.jsonl", results_of_ragelo("A", "A", "C"))
    assert format_of(source).name == "ragelo-games-jsonl"
    (game,) = read_game_lines(source)
    assert (game.agent_a, game.agent_b, game.winner) == ("x", "y", "A")

    both = tmp_path / "both.games.jsonl"
    assert not convert(Conversion(source, both, "games", "ragelo-orders-jsonl"))
    (query,) = read_games(both)
    assert [(game.system_a, game.winner, game.order) for game in query.game_sets[0].games] == [
        ("x", "A", 1),
        ("y", "C", 2),
    ]


tags = st.text("ab1_.-", min_size=1, max_size=5)
rank_entry = st.tuples(tags, st.integers(0, 3), st.sampled_from([1.0, 2.0]))
rank_entries = st.lists(rank_entry, max_size=2, unique_by=lambda system_rank_score: system_rank_score[0])


@given(st.lists(st.tuples(texts.map(str.strip).filter(bool), rank_entries), min_size=1, max_size=4))
def test_documents_of_ragelo_survive_except_for_dropped_fields(
    passages: list[tuple[str, list[tuple[str, int, float]]]],
) -> None:
    def ranking(system: str, key: str, rank: int, score: float) -> dict[str, Any]:
        return {"method": system, "paragraphId": key, "queryId": "q", "rank": rank, "score": score}

    line: list[Any] = ["q", []]
    for key, (text, ranked) in enumerate(passages):
        rankings = [ranking(system, f"p{key}", rank, score) for system, rank, score in ranked]
        passage = {"paragraph_id": f"p{key}", "text": text, "paragraph_data": {"rankings": rankings}}
        line[1].append(passage)
    with tempfile.TemporaryDirectory() as name:
        source, there, back = (Path(name) / part for part in ("a.jsonl", "b.csv", "c.jsonl"))
        source.write_text(json.dumps(line))
        dropped = convert(Conversion(source, there, "ragelo-documents")).counts
        assert not convert(Conversion(there, back, "graded", "ragelo-documents"))
        (before,), (after,) = list(read_passages(source)), list(read_passages(back))
        texts = {p.passage_id: p.text for p in before.passages}
        assert {p.passage_id: p.text for p in after.passages} == texts
        assert dropped.keys() <= {"original ranks or scores"}
        entries = [
            [(r.method, r.rank, r.score, p.passage_id) for p in query.passages for r in p.rankings]
            for query in (before, after)
        ]
        assert len(entries[0]) == len(entries[1])
        assert sum(e not in entries[1] for e in entries[0]) <= dropped.get("original ranks or scores", 0)


def test_a_ranking_has_no_name_of_its_measure(tmp_path: Path) -> None:
    source = tmp_path / "scores.jsonl"
    source.write_text('{"system": "s", "query_id": "all", "metric": "m", "value": 0.5}\n')
    dropped = convert(Conversion(source, tmp_path / "target", "ragelo-ranking", "scores-jsonl"))
    assert dropped.counts == {"measure names": 1}
