"""The demo collection (data/demo): valid files, and the numbers of its README."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import exam_pp
from exam_pp.cli.main import main
from scripts.make_demo_runs import make


def test_all_files_are_valid(demo_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = (
        "queries.jsonl",
        "passages.tsv",
        "questions.jsonl",
        "nuggets.jsonl",
        "criteria.jsonl",
        "qrels.txt",
        "runs",
    )
    answers = [str(path) for path in (demo_data / "answers").iterdir()]
    main(["validate", *answers, *(str(demo_data / name) for name in files)])
    assert "0 errors, 0 warnings." in capsys.readouterr().out


def test_both_assessors_judged_every_passage(demo_data: Path) -> None:
    found = exam_pp.agreement(demo_data / "qrels.txt", demo_data / "qrels-assessor-b.txt")
    assert (found.passages, f"{found.kappa:.2f}") == (401, "0.77")


def test_gold_answers_are_in_relevant_passages(demo_data: Path) -> None:
    lines = (demo_data / "passages.tsv").read_text("utf-8").splitlines()
    texts = dict(line.split("\t")[:2] for line in lines)
    relevant: dict[str, str] = {}
    for line in exam_pp.read_qrels(demo_data / "qrels.txt"):
        if line.relevance >= 2:
            relevant[line.query_id] = f"{relevant.get(line.query_id)} {texts[line.passage_id].lower()}"
    assert [
        answer
        for query_id, query in exam_pp.read_bank(demo_data / "questions.jsonl").queries.items()
        for entry in query.entries.values()
        for answer in entry.gold_answers or ()
        if not re.search(rf"(?<!\w){re.escape(answer.lower())}(?!\w)", relevant[query_id])
    ] == []


def test_runs_and_official_ranks_are_those_of_the_script(demo_data: Path) -> None:
    files, _ = make(demo_data)
    assert {name: (demo_data / name).read_text("utf-8") for name in files} == files
