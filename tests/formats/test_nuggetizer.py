"""Conversion of files of AutoNuggetizer and UMBRELA other than banks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.formats.base import format_of
from exam_pp.formats.nuggetizer import nugget_metrics, read_nugget_metrics
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.phases.validation.validate import validate
from exam_pp.results import Qrel, Score
from exam_pp.store.trec.answers import read_answers
from exam_pp.store.trec.runs import read_qrels, read_run
from exam_pp.store.trec.scores import read_score_rows

Write = Callable[[str, list[Any]], Path]
KEYS = (
    "strict_vital_score", "vital_score", "strict_weighted_score", "weighted_score", "strict_all_score",
    "all_score",
)  # fmt: skip
METRICS = [
    {"qid": "1"} | dict(zip(KEYS, (0.5, 0.75, 0.5, 0.75, 0.25, 0.25), strict=True)),
    {"qid": "02"} | dict(zip(KEYS, (0.0, 0.0, 0.5, 0.5, 1.0, 1.0), strict=True)),
    {"qid": "all"} | dict(zip(KEYS, (0.25, 0.375, 0.5, 0.625, 0.625, 0.625), strict=True)),
]
NUGGET = {"text": "a fact", "importance": "vital", "assignment": "support"}
ASSIGNMENT = {
    "query": "text", "qid": "q", "answer_text": "Words.", "response_length": 1, "run_id": "r",
    "nuggets": [NUGGET],
}  # fmt: skip
CANDIDATES = {
    "query": {"qid": "q", "text": "text"},
    "candidates": [{"docid": "d", "score": 2.0, "judgment": 3, "doc": {"segment": "Words.", "title": "T"}}],
}
ROW = {
    "model": "m",
    "query": "text",
    "passage": "Words.",
    "prediction": "2",
    "judgment": 2,
    "result_status": 1,
}


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (METRICS[0], "nuggetizer-metrics"),
        (ASSIGNMENT, "nuggetizer-assignments"),
        ({"query": "text", "qid": "q", "nuggets": [NUGGET]}, "nuggetizer"),
        (CANDIDATES, "candidates"),
    ],
)
def test_formats_are_detected_from_the_content(write_jsonl: Write, value: Any, form: str) -> None:
    path = write_jsonl("file.jsonl", [value])
    assert format_of(path).name == form
    assert not validate([path]).kept


def test_metrics_become_scores(write_jsonl: Write, tmp_path: Path) -> None:
    """The line of means is no topic."""
    source, rows = write_jsonl("run-a.jsonl", METRICS), tmp_path / "rows.jsonl"
    convert(Conversion(source, rows, "scores-jsonl"))
    assert list(read_score_rows(rows))[:2] == [
        Score("run-a", "1", "V_strict", 0.5),
        Score("run-a", "1", "V", 0.75),
    ]
    both = write_jsonl("both.jsonl", [{**METRICS[0], "run_id": run} for run in "ab"])
    assert {score.system for score in read_nugget_metrics(both)} == {"a", "b"}


def test_assignments_become_answers(write_jsonl: Write, tmp_path: Path) -> None:
    source = write_jsonl("a.jsonl", [ASSIGNMENT])
    dropped = convert(Conversion(source, tmp_path / "answers.jsonl", "rag24"))
    (answer,) = read_answers(tmp_path / "answers.jsonl")

    assert (answer.system, answer.query_id, answer.parts[0].text) == ("r", "q", "Words.")
    assert dropped.counts["nuggets"] == 1
    assert dropped.counts["sets of grades"] == 1


def test_candidates_become_runs_and_qrels(write_jsonl: Write, tmp_path: Path) -> None:
    source = write_jsonl("bm25.jsonl", [CANDIDATES])
    dropped = convert(Conversion(source, tmp_path / "bm25.run", "run"))
    convert(Conversion(source, tmp_path / "q.qrels", "qrels"))

    assert [(line.passage_id, line.rank) for line in read_run(tmp_path / "bm25.run")] == [("d", 1)]
    assert read_qrels(tmp_path / "q.qrels") == [Qrel("q", "d", 3)]
    assert dropped.counts["field 'title'"] == 1


def written(scores: list[Score]) -> list[Any]:
    topics = dict.fromkeys(score.query_id for score in scores)
    means = {row.metric: row.mean for row in standings(scores)}
    return [json.loads(line) for line in nugget_metrics(topics, scores, means).splitlines()]


def test_metrics_always_have_all_scores(write_jsonl: Write) -> None:
    """AutoNuggetizer reads no line without one of its six scores, so that none is written."""
    source = write_jsonl("run.jsonl", [METRICS[0], {"qid": "02", "all_score": 1.0, "strict_all_score": 1.0}])
    with pytest.raises(
        SelectionError, match=r"no V_strict and no V and no W_strict and no W of the topic '02'"
    ):
        written(read_nugget_metrics(source))
