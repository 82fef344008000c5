"""Runs and qrels."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from exam_pp.errors import DataError
from exam_pp.formats.base import format_of
from exam_pp.metrics.ties_in_runs import trec_eval_ranking
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.results import Qrel, RunLine
from exam_pp.store.trec.runs import (
    method_of,
    read_qrels,
    read_rankings,
    read_run,
    run_files,
    warn_of_skipped_files,
    write_qrels,
    write_run,
)
from tests.conftest import data_error


def test_run(tmp_path: Path) -> None:
    path = tmp_path / "my.system.run"
    path.write_text("q1 Q0 d#1 0 2.5 tag\n007\tQ0\td2\t1\t-1e3\ttag\r\n")
    assert list(read_run(path)) == [
        RunLine("q1", "d#1", 0, 2.5, "my.system"),
        RunLine("007", "d2", 1, -1000.0, "my.system"),
    ]
    assert {line.system for line in read_run(path, method="tag")} == {"tag"}


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("bm25.run", "bm25"),
        ("bm25.run.gz", "bm25"),
        ("input.v1.gz", "input.v1"),
        ("a.b.txt", "a.b"),
        ("x", "x"),
    ],
)
def test_the_method_is_the_file_stem(name: str, method: str) -> None:
    assert method_of(Path(name)) == method


RESULT = "q Q0 d 1 2.0 tag\n"


def test_runs_of_a_folder(tmp_path: Path) -> None:
    names = ("b.run", "a.run.gz", "c.txt", "input.d.gz", ".hidden.run", "results.trunc")
    for name in names:
        (tmp_path / name).write_text(RESULT)
    (tmp_path / "folder.run").mkdir()
    found = [path.name for path in run_files(tmp_path)]
    assert found == ["a.run.gz", "b.run", "c.txt", "input.d.gz", "results.trunc"]
    assert run_files(tmp_path / "b.run") == [tmp_path / "b.run"]


def test_every_visible_entry_of_a_folder_is_read_or_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    others = {
        "README.md": "# Six words, not a run\n",
        "binary.gz": "\x89PNG\x00\x01",
        "empty.txt": "",
        "graded.jsonl": '["q", []]\n',
        "measures.json": '{"q": {"map": 0.1, "ndcg": 0.5}}',
        "notes.txt": "run a: first try\n",
        "official.csv": "a,0.5,0.4,1,0.3,0.2\nb,0.5,0.4,2,0.3,0.2\n",
        "qrels.txt": "q 0 d 1\nq 0 e 0\n",
        "scores.csv": "system,query_id,score\na,q,0.5\n",
        "trec_eval.out": "num_q\tall\t1\nmap\tall\t0.5\n",
    }
    for name, text in {"a.run": "# damaged\n", ".hidden": "", **others}.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    warn_of_skipped_files(tmp_path / "a.run")
    assert not caplog.messages
    warn_of_skipped_files(tmp_path)
    [message] = caplog.messages
    assert "11 entries are not read" in message
    assert message.endswith(": README.md, binary.gz, empty.txt, folder, graded.jsonl, ...")
    assert run_files(tmp_path) == [tmp_path / "a.run"]


@pytest.mark.parametrize(
    ("name", "text", "about"),
    [
        ("b.res", f"{RESULT}q Q0 e 2\n", "line 2: has 4 columns"),
        ("b.csv", "q,Q0,d,1,2.0,tag\n", "has 1 column"),
        ("b.csv", "query,Q0,passage,rank,score,tag\nq,Q0,d,1,2,t\n", "'passage_id'"),
        ("b.csv", "System;Query ID;Hit;Rank\ns;q;d;1\n", "'passage_id'"),
        ("b.txt", "q\td\t1\nq\te\n", "line 2: has 2 columns"),
        ("b.txt", "q\td\t1\nq\te\ttwo\n", "'two'"),
    ],
)
def test_a_run_that_cannot_be_read_is_an_error(tmp_path: Path, name: str, text: str, about: str) -> None:
    """Otherwise its system is missing from the leaderboard."""
    (tmp_path / "a.run").write_text(RESULT)
    (tmp_path / name).write_text(text)
    [_, damaged] = run_files(tmp_path)
    with pytest.raises(DataError, match=about):
        list(read_run(damaged))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.tsv", "q\td1\t1\nq\td2\t2\nr\td1\t1\n"),
        ("s.run", "q d1 0\nq d2 1\nr d1 0\n"),
        ("s.run", "q d1 12.5\nq d2 11\nr d1 3\n"),
        ("s.run", "q d1 1 12.5\nq d2 2 11\nr d1 1 3\n"),
        ("s.run", "q d1 1 tag\nq d2 2 tag\nr d1 1 tag\n"),
        ("s.json", '{"q": {"d2": 1.5, "d1": 3.0}, "r": {"d1": 2}}'),
        ("s.json.gz", '{\n "q": {\n  "d1": 2.5,\n  "d2": 1\n },\n "r": {"d1": 2}\n}'),
        ("s.trunc", "q Q0 d1 1 3 s more junk\nq Q0 d2 2 2 s\nr Q0 d1 1 3 s at the end\n"),
    ],
)
def test_runs_of_other_tools(tmp_path: Path, name: str, text: str) -> None:
    """MS MARCO, ColBERT, ranx and trec_eval."""
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    assert format_of(path).name == "run"
    lines = sorted(read_run(path), key=lambda line: (line.query_id, -line.score))
    assert [(line.query_id, line.passage_id) for line in lines] == [("q", "d1"), ("q", "d2"), ("r", "d1")]
    assert lines[0].rank < lines[1].rank
    assert method_of(path) == ("s.trunc" if name == "s.trunc" else "s")
    (run,) = read_rankings(path).values()
    assert {query_id: list(trec_eval_ranking(scores)) for query_id, scores in run.items()} == {
        "q": ["d1", "d2"], "r": ["d1"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "text", ["q d1 1\nq d2 1\n", "q 0 d1\nq 0 d2\n", "q d1 3\nq d2 2\n", "q d1 1\nq d2 3.5\n"]
)
def test_columns_that_are_not_clear_are_not_guessed(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.run"
    path.write_text(text)
    with pytest.raises(DataError, match="Other columns need a header with query_id, passage_id"):
        list(read_run(path))


def test_missing_runs(tmp_path: Path) -> None:
    with data_error(tmp_path, about="no run files"):
        run_files(tmp_path)
    with data_error(tmp_path / "none"):
        run_files(tmp_path / "none")


@pytest.mark.parametrize(
    ("lines", "line", "field", "about"),
    [
        ("q Q0 d 1 2.0\n", 1, None, "5 columns"),
        ("q 1 Q0 d 1 2.0 t\n", 1, None, "Ids cannot have spaces."),
        ("q Q0 d 1 1 2.0 t\n", 1, None, "7 columns"),
        ("q Q0 d 1 2.0 t\nq Q0 e first 1.0 t\n", 2, "rank", "'first'"),
        ("q Q0 d 1 high t\n", 1, "score", "'high'"),
        ("q Q0 d 1 nan t\n", 1, "score", "'nan'"),
        ("q Q0 d 1 2 t\nq Q0 d 2 1 t\n", 2, None, "'d' occurs twice for the query 'q'"),
        ("q Q0 d 1 inf t\n", 1, "score", "'inf'"),
        ("1 0 2 3 4\n1 0 2 3 4 t 5\n", 1, None, "5 columns"),  # not two lines of six
    ],
)
def test_broken_runs(tmp_path: Path, lines: str, line: int, field: str | None, about: str) -> None:
    path = tmp_path / "s.run"
    path.write_text(lines)
    for read in (lambda: list(read_run(path)), lambda: read_rankings(path)):
        with data_error(path, line, field, about=about):
            read()


def test_systems_of_one_file_may_return_the_same_passage(tmp_path: Path) -> None:
    path = tmp_path / "all.run"
    path.write_text("q Q0 d 1 3 one\nq Q0 e 2 2 one\nq Q0 d 1 9 two\n")
    assert read_rankings(path, method="tag") == {"one": {"q": {"d": 3.0, "e": 2.0}}, "two": {"q": {"d": 9.0}}}
    ways: list[Callable[[], list[RunLine]]] = [
        lambda: list(read_run(path)),
        lambda: list(read_run(path, method="tag", one_system=True)),
    ]
    for read in ways:
        with data_error(path, 3, about="--method-name tag"):
            read()


def test_qrels(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_bytes(gzip.compress(b"q1 0 d1 3\nq1\t0\td2\t-2\nq2/facet 0 d1 0\nq1 0 d1 3\n"))
    assert read_qrels(path) == [Qrel("q1", "d1", 3), Qrel("q1", "d2", -2), Qrel("q2/facet", "d1", 0)]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qrels", "q1 d1 3\nq1 d2 0\nq2 d1 3\n"),
        ("qrels.tsv", "q1\td1\t3\nq1\td2\t0\nq2\td1\t3\n"),
        ("qrels.json", '{"q1": {"d1": 3, "d2": 0}, "q2": {"d1": 3}}'),
    ],
)
def test_qrels_of_other_tools(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert read_qrels(path) == [Qrel("q1", "d1", 3), Qrel("q1", "d2", 0), Qrel("q2", "d1", 3)]
    assert format_of(path).name == "qrels"


def test_grades_with_fractions(tmp_path: Path) -> None:
    """Means of several judges; ``1.`` is a whole number, and a query id may start with #."""
    path = tmp_path / "qrels"
    path.write_text("q 0 a 1.8\nq 0 b 1.\n#q 0 c 0.5\n")
    qrels = read_qrels(path)
    assert qrels == [Qrel("q", "a", 1.8), Qrel("q", "b", 1), Qrel("#q", "c", 0.5)]
    assert [type(qrel.relevance) for qrel in qrels] == [float, int, float]
    write_qrels(qrels, tmp_path / "again")
    assert read_qrels(tmp_path / "again") == qrels
    assert format_of(path).name == "qrels"


def test_comments_in_qrels(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(
        "# made by hand\n#q 0 d 1\n# 0 d9 2\nq1 0 d1 3 # sure\n\n## 4 more fields here\nq1 0 d#2 0\n"
    )
    judged = [Qrel("#q", "d", 1), Qrel("#", "d9", 2), Qrel("q1", "d1", 3), Qrel("q1", "d#2", 0)]
    assert read_qrels(path) == judged, "an id may start with #"
    path.write_text("# made by hand\nq1 0 d1 3\n# the end\nq1 0 d2 0\n")
    assert format_of(path).name == "qrels"


def test_qrels_of_beir(tmp_path: Path) -> None:
    path = tmp_path / "test.tsv"
    path.write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\nq2\td1\t0\n")
    assert format_of(path).name == "qrels"
    assert read_qrels(path) == [Qrel("q1", "d1", 2), Qrel("q2", "d1", 0)]
    convert(Conversion(path, tmp_path / "qrels", "qrels"))
    assert (tmp_path / "qrels").read_text() == "q1 0 d1 2\nq2 0 d1 0\n"


def test_blanks_in_ids(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_qrels([Qrel("q 1", "a\u00a0 b", 1), Qrel("q 2", "c", 0)], tmp_path / "qrels")
    assert read_qrels(tmp_path / "qrels") == [Qrel("q_1", "a_b", 1), Qrel("q_2", "c", 0)]
    assert caplog.messages == ["TREC files have '_' in place of blanks in ids."]
    write_run([RunLine("q 1", "a b", 1, 2.0, "app v1")], tmp_path / "app v1.run")
    assert (tmp_path / "app v1.run").read_text() == "q_1 Q0 a_b 1 2.0 app_v1\n"


@pytest.mark.parametrize(
    ("qrel", "problem"),
    [
        (Qrel("q_1", "d", 1), "The query ids 'q 1' and 'q_1' are the same in TREC files"),
        (Qrel("q", "d 1", 1), "The passage ids 'd\\\\xa01' and 'd 1' are the same in TREC files"),
        (Qrel("q", " ", 1), "The passage id ' ' is empty"),
    ],
)
def test_ids_that_qrels_do_not_allow(tmp_path: Path, qrel: Qrel, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        write_qrels([Qrel("q 1", "d\u00a01", 1), qrel], tmp_path / "qrels")
    assert not list(tmp_path.iterdir())


def test_written_files_are_read(tmp_path: Path) -> None:
    run = [RunLine("q", "d1", 1, 0.1 + 0.2, "s"), RunLine("q", "d2", 2, 1e-17, "s")]
    write_run(run, tmp_path / "s.run.gz")
    assert list(read_run(tmp_path / "s.run.gz")) == run
    qrels = [Qrel("q", "d", 3), Qrel("r", "e", -1)]
    write_qrels(qrels, tmp_path / "qrels")
    assert read_qrels(tmp_path / "qrels") == qrels
    assert (tmp_path / "qrels").read_text() == "q 0 d 3\nr 0 e -1\n"
