"""Human ratings of answers by criteria, from spreadsheets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import DataError, ExamError, SelectionError
from exam_pp.plugins.rag_metrics.apply_spreadsheet import apply_criteria_ratings
from exam_pp.store.passages.graded_file import read_passages
from tests.phases.analysis.criteria_files import answer

WriteLines = Callable[[str, list[Any]], Path]


@pytest.fixture
def graded(write_jsonl: WriteLines) -> Path:
    """Two queries, two systems, rated by a model on two criteria with the scales 0 to 2 and 0 to 3."""
    levels = {"accuracy": 2, "style": 3}
    return write_jsonl(
        "graded.jsonl",
        [
            [
                query,
                [
                    answer(query, system, {"gpt": {"accuracy": 1, "style": 3}}, criteria=levels)
                    for system in ("RAG", "RAGF")
                ],
            ]
            for query in ("q1", "q2")
        ],
    )


@pytest.fixture
def bare(write_jsonl: WriteLines) -> Path:
    return write_jsonl("bare.jsonl", [["q1", [answer("q1", "RAG", {})]]])


def apply(graded: Path, text: str, **keys: Any) -> tuple[list[str], dict[tuple[str, str], Any]]:
    """The summary, and query and system to the grades of a person in the output."""
    sheet, output = graded.parent / "ratings.csv", graded.parent / "out.jsonl"
    sheet.write_text(text, encoding="utf-8")
    summary = apply_criteria_ratings(graded, [sheet], output, **({"reviewer": "ann"} | keys))
    people = {}
    for line in output.read_text(encoding="utf-8").splitlines():
        query, passages = json.loads(line)
        for passage in passages:
            for grades in passage["criteria_grades"]:
                if grades["llm"].startswith("human:"):
                    assert (query, grades["method"]) not in people
                    people[query, grades["method"]] = grades
    return summary, people


def ratings(grades: dict[str, Any]) -> dict[str, int]:
    return {item["criterion"]: item["rating"] for item in grades["ratings"]}


def test_a_column_for_each_criterion(graded: Path) -> None:
    """Names of criteria match in any case; an empty cell is no rating."""
    summary, people = apply(
        graded,
        "\ufeffquery_id;system;answer;Accuracy;style;comment\r\n"
        "q1;RAG;Tides …;2;3;well said\r\nq1;RAGF;Tides …;0;;\r\nq2;RAG;;;;'-no rating yet\r\n",
    )

    assert list(people) == [("q1", "RAG"), ("q1", "RAGF"), ("q2", "RAG")]
    assert ratings(people["q1", "RAG"]) == {"accuracy": 2, "style": 3}
    assert ratings(people["q1", "RAGF"]) == {"accuracy": 0}
    assert people["q1", "RAG"] == {
        "llm": "human:ann", "llm_options": {}, "prompt_type": "criteria", "method": "RAG",
        "prompt_info": {"prompt_class": "Criteria", "criteria": {"accuracy": 2, "style": 3}},
        "ratings": [{"criterion": "accuracy", "rating": 2}, {"criterion": "style", "rating": 3}],
        "comments": {"answer": "well said"},
    }  # fmt: skip
    assert people["q2", "RAG"]["comments"] == {"answer": "-no rating yet"}
    assert summary == [
        "3 ratings of 2 answers added as human:ann with the prompt Criteria.",
        "2 comments added.",
    ]


def test_ratings_are_merged_with_earlier_ones_and_twice_is_the_same(graded: Path) -> None:
    _, first = apply(graded, "query_id,system,accuracy,style\nq1,RAG,1,1\n")
    output = graded.parent / "out.jsonl"
    again = output.rename(graded.parent / "again.jsonl")
    _, second = apply(again, "query_id,system,accuracy\nq1,RAG,2\n")
    before = (graded.parent / "out.jsonl").rename(graded.parent / "third.jsonl")
    apply(before, "query_id,system,accuracy\nq1,RAG,2\n")

    assert ratings(first["q1", "RAG"]) == {"accuracy": 1, "style": 1}
    assert ratings(second["q1", "RAG"]) == {"accuracy": 2, "style": 1}
    assert second["q1", "RAG"]["prompt_info"]["criteria"] == {"accuracy": 2, "style": 3}
    assert (graded.parent / "out.jsonl").read_bytes() == before.read_bytes()


def test_grades_of_models_and_other_lines_keep_their_bytes(graded: Path) -> None:
    apply(graded, "query_id,system,accuracy\nq1,RAG,1\n")
    before, after = (path.read_text().splitlines() for path in (graded, graded.parent / "out.jsonl"))
    assert before[1] == after[1]
    assert all(
        next(grades.model for grades in passage.criteria_grades or ()) == "gpt"
        for query in read_passages(graded.parent / "out.jsonl")
        for passage in query.passages
    )


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("query_id,system,style\nq9,RAG,1\n", r"ratings\.csv, line 2: 'RAG' has no answer to the query 'q9'"),
        ("query_id,system,style\nq1,X,1\n", r"line 2: 'X' has no answer .*\(answers of: RAG, RAGF\)"),
        ("query_id,system,style\nq1,RAG,4\n", r"line 2, style: '4' is not a rating from 0 to 3"),
        ("query_id,system,style\nq1,RAG,-1\n", r"line 2, style: '-1' is not a rating from 0 to 3"),
        ("query_id,system,style\nq1,RAG,1.5\n", r"line 2, style: '1\.5' is not a rating"),
        ("query_id,system,style\nq1,RAG,good\n", r"line 2, style: 'good' is not a rating"),
        ("query_id,system,style\nq1,RAG,inf\n", r"line 2, style: 'inf' is not a rating"),
        ("query_id,system,style\n,RAG,1\n", r"line 2: 'RAG' has no answer to the query ''"),
        ("query_id,system,style\nq1,,1\n", r"line 2: '' has no answer"),
        ("query_id,style\nq1,1\n", r"line 1: has no column 'system'"),
        ("query_id,system,mood\nq1,RAG,1\n", r"line 1, mood: is not a criterion of .*\(accuracy, style\)"),
        ("query_id,system,style\nq1,RAG,1,2\n", r"line 2: has a cell without a column name"),
        ("query_id,system,style,style\nq1,RAG,1,2\n", r"line 1: has the column 'style' twice"),
        ("query_id,system,style\nq1,RAG,\n", r"No cell of .*ratings\.csv has a rating"),
    ],
)  # fmt: skip
def test_bad_spreadsheets_are_refused_whole(graded: Path, rows: str, message: str) -> None:
    with pytest.raises((DataError, SelectionError), match=message):
        apply(graded, rows)
    assert not (graded.parent / "out.jsonl").exists()


def test_ambiguous_prompt_class_and_empty_name(write_jsonl: WriteLines, bare: Path) -> None:
    both = answer("q1", "RAG", {"gpt": {"a": 1}})
    other = answer("q1", "RAG", {"gpt": {"b": 1}}, prompt_class="Other")
    both["criteria_grades"] += other["criteria_grades"]
    path = write_jsonl("both.jsonl", [["q1", [both]]])
    sheet = "query_id,system,b\nq1,RAG,1\n"

    with pytest.raises(ExamError, match=r"several prompts.*--prompt: Criteria, Other"):
        apply(path, sheet)
    assert apply(path, sheet, prompt_class="Other")[0][0].startswith("1 rating of 1 answer added")
    with pytest.raises(ExamError, match="--reviewer is empty"):
        apply(bare, sheet, reviewer="human: ")
