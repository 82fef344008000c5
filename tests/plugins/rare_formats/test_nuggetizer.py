"""Files of AutoNuggetizer, and of the segments that it reads."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.formats.base import format_of
from exam_pp.phases.evaluation.result import Evaluation
from exam_pp.phases.interchange.bridges import Conversion, convert
from exam_pp.phases.validation.validate import validate
from exam_pp.plugins.rare_formats.nuggetizer import read_nugget_metrics, scores_text
from exam_pp.results import Qrel, Score
from exam_pp.store.trec.answers import read_answers
from exam_pp.store.trec.runs import read_qrels, read_run
from exam_pp.store.trec.scores import read_score_rows
from tests.formats.test_schemas import validator

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
    return [json.loads(line) for line in scores_text(Evaluation(scores)).splitlines()]


def test_metrics_always_have_all_scores(write_jsonl: Write) -> None:
    """AutoNuggetizer reads no line without one of its six scores, so that none is written."""
    source = write_jsonl("run.jsonl", [METRICS[0], {"qid": "02", "all_score": 1.0, "strict_all_score": 1.0}])
    with pytest.raises(
        SelectionError, match=r"no V_strict and no V and no W_strict and no W of the topic '02'"
    ):
        written(read_nugget_metrics(source))


def test_the_mean_in_nugget_metrics_is_not_a_topic(tmp_path: Path) -> None:
    rows = [{"qid": "1", "all_score": 0.5}, {"qid": "all", "all_score": 0.5}]
    (tmp_path / "run.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_nugget_metrics(tmp_path / "run.jsonl") == [Score("run", "1", "A", 0.5)]


def test_fields_of_a_bank_that_its_nuggets_drop(demo_data: Path, tmp_path: Path) -> None:
    """The demo's nuggets of one query have three facets."""
    dropped = convert(Conversion(demo_data / "nuggets.jsonl", tmp_path / "out", "nuggetizer")).counts
    facets = {"entry ids": 12, "facet texts": 3, "facets": 3}
    assert dropped == {"info of queries": 22, "test collections": 22} | facets


def test_invalid_lines_are_found(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text('{"qid": "q", "nuggets": [{"text": "n"}]}\n{"qid": "q"}\n{\n')
    findings = validate([path])
    assert [finding.line for finding in findings.kept] == [2, 3]


def test_the_schema_needs_texts() -> None:
    assert not validator("nuggets").is_valid({"qid": "q", "nuggets": [{"text": ""}]})
