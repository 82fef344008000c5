"""Format detection: files of every format are detected, and other files are not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.formats.base import format_of, known_format
from tests.conftest import data_error, passage

FOREIGN = {
    "prose": "Hello, my friend, this is prose.\nIt has two lines, and commas, too.\n",
    "prose without commas": "It was the best of times.\nIt was the worst of times.\n",
    "a table of people": "name,age,city\nBob,3,Rome\nEve,4,Oslo\n",
    "a table of dates": "date\tamount\n2020-01-01\t3\n",
    "a table of words": "a\tb\tc\nx\ty\tz\n",
    "a table with numbers": "prompt class\tmin grade\tmeasure\tn\tSpearman\tKendall\nP\t4\tRR\t6\t0.9\t0.8\n",
    "a table of agreement": "# GRADED, best rating\nlabel\t3\t2\t1\t0\tTotal\tκ\tinterval\n"
    + "".join(f"{n}\t361\t789\t514\t542\t2206\t0.23\t[0.14, 0.31]\n" for n in range(6)),
    "systems without a number": "system,comment\nbm25,good\n",
    "a page": "<html><body>words</body></html>\n",
    "documents": '{"title": "x", "body": "y"}\n{"title": "z", "body": "y"}\n',
    "query, measure, value": "1\tAP\t0.5\n2\tAP\t0.25\n",
    "data of an interface": '{"data": [{"id": 1}]}\n',
    "data of numbers": '{"data": [1, 2]}\n',
    "empty": "",
    "odd blanks": "\x1c\n\u2003\n",
    "bytes": "a\tb\0\nc\td\n",
}
KNOWN = {
    "system\tcover\nbm25\t0.5\n": "leaderboard",
    "run_id,task,V,A\na.b,RAG,0.9,0.1\n": "leaderboard",
    "method,nugget-3,official_rank\npash_r3,0.95,1\n": "leaderboard",
    "agent,score\nagent1,1030\n": "leaderboard",
    "system\tRR\tRR stderr\tRR low\tRR high\tRR letters\nbm25\t0.4\t0.1\t0.3\t0.5\ta\n": "leaderboard",
    "run1\tQ0\tp1\t1\t2.5\tt\nrun1\tQ0\tp2\t2\t1.5\tt\n": "run",
    "method\tExamCover\t+/-\tstd-err\nbm25\t0.358\t+/-\t0.040\n": "leaderboard",
    "run_id\tquery_id\tmeasure\tvalue\nr1\tleaf\tREL\t0.85\nr2\tleaf\tREL\t0.5\n": "autojudge-eval",
    "method\texam\t+/-\texam-std\tn-exam\t+/-\tn-exam-std\torig_TREC_leaderboard_rank\t"
    "orig_EXAM_leaderboard_rank\nbm25\t0.4\t+/-\t0.1\t0.6\t+/-\t0.1\t1\t2\n": "leaderboard",
    "method\tRR\t+/-\tstd-err\torig_TREC_leaderboard_rank\nbm25\t0.4\t+/-\t0.1\t1\n": "leaderboard",
    "system\trank\nbm25\t1\n": "official-tsv",
    "system\trank\n": "official-tsv",
    "map\tall\t0.5\n": "trec-eval",
    "bm25\t1\ndense\t2.5\n": "official-tsv",
    "q1\tone two\nq2\tthree\n": "queries-tsv",
    '{"query_id": "q1", "text": "one", "metadata": {"n": 1}}\n': "queries-jsonl",
    '{"request_id": "q1", "title": "one", "problem_statement": "two"}\n': "queries-jsonl",
    '{"request_id": "q1", "problem_statement": "one", "background": "two"}\n': "queries-jsonl",
    '{"qid": "1", "query": "one"}\n{"qid": "2", "query": "two"}\n': "queries-jsonl",
    '{"id": 1, "title": "one"}\n{"id": 2, "title": "two"}\n': "queries-jsonl",
    '{"id": "1", "query": "one"}\n': "queries-jsonl",
    "query_id,query,kind\n1,one,short\n": "ragelo-queries",
    "1\tone two\ten\n2\tthree four\tde\n": "queries-tsv",
    '{"_id": "1", "title": "x", "text": "y", "metadata": {}}\n': "texts",
    '{"id": "1", "contents": "one"}\n{"id": "2", "contents": "two"}\n': "texts",
    '{"query_id": "q1", "answer": "one"}\n': "ragelo-answers",
    '{"narrative_id": 1, "narrative": "one"}\n{"narrative_id": 2, "narrative": "two"}\n': "queries-jsonl",
    '<?xml version="1.0"?>\n<topics>\n<topic number="1"><title>x</title></topic></topics>': "topics",
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_unknown_files_have_no_format(content: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    assert known_format(path) is None
    with data_error(path, about="--from"):
        format_of(path, "--from")


DAMAGED = {
    "q Q0 p 1 2.0 t\nq Q0 r x 1.0 t\nbroken\nq Q0 s 3 1.0 t\nq Q0 u 3 1.0 t\n": "run",
    "q 0 p 1\nq 0 r x\nq 0 s 1\n": "qrels",
    "q 0 p 1.8\nq 0 r 2.\nq 0 s 1\n": "qrels",
    "one\t1\tF1\t1.0\none\t2\tF1\t0.8\none\tall\tF1\t0.9\n": "autojudge-eval",
    "q1\tone\nq2\nq3\tthree\n": "queries-tsv",
    "system\tcover\nbm25\t0.5\ndense\t0.6\nx\ty\n": "leaderboard",
    json.dumps({f"s{n}": n for n in range(12)} | {"t": "two"}): "official-json",
}


@pytest.mark.parametrize(("content", "form"), (KNOWN | DAMAGED).items())
def test_known_files_are_detected(content: str, form: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    assert format_of(path).name == form


def test_a_damaged_first_line_does_not_hide_the_format(
    write_jsonl: Callable[[str, list[Any]], Path],
) -> None:
    path = write_jsonl("graded.jsonl", [["q", [passage("p")]]])
    path.write_text('["a", [{"paragraph_id"\n[1, 2\n7\n' + path.read_text())
    assert format_of(path).name == "graded"
