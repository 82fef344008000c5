"""The reviewed view: ratings of people in place of the judge's for scores; each grader alone elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.evaluation.cover import cover
from exam_pp.phases.evaluation.leaderboards import Statistics, leaderboard
from exam_pp.phases.evaluation.rubric_qrels import rubric_qrels
from exam_pp.phases.evaluation.verdict import verdict
from exam_pp.results import OVERALL_SYSTEM
from tests.conftest import passage, rubric

WriteLines = Callable[[str, list[Any]], Path]

JUDGE = "google/flan-t5-large"


def of_system(name: str, query_id: str, *grades: dict[str, Any]) -> dict[str, Any]:
    place = {"rank": 1, "score": 1.0, "queryId": query_id, "paragraphId": f"{name}-{query_id}"}
    ranking = {"method": name, **place}
    return passage(
        f"{name}-{query_id}", paragraph_data={"judgments": [], "rankings": [ranking]}, exam_grades=grades
    )


@pytest.fixture
def reviewed(write_jsonl: WriteLines) -> Path:
    """Two systems and two questions a query; ann corrects the first passage of a, ann and bo that of b."""
    judged = {"x": 5, "y": 5}
    first = [
        of_system("a", "q1", rubric(judged), rubric({"x": 0}, llm="human:ann")),
        of_system(
            "b", "q1", rubric(judged), rubric({"x": 0}, llm="human:ann"), rubric({"x": 5}, llm="human:bo")
        ),
    ]
    second = [of_system("a", "q2", rubric(judged)), of_system("b", "q2", rubric({"x": 0, "y": 0}))]
    return write_jsonl("reviewed.jsonl", [["q1", first], ["q2", second]])


def means(evaluation: Any) -> dict[str, float]:
    board = leaderboard(evaluation)
    return {
        system: board.rows[system, board.metrics[0]].mean
        for system in board.systems
        if system != OVERALL_SYSTEM
    }


def test_people_count_in_place_of_the_judge(reviewed: Path) -> None:
    """Of two people who disagree, the lower rating counts, as in a consensus by the median."""
    evaluation = cover(reviewed)
    assert means(evaluation) == {"a": 0.75, "b": 0.25}
    assert evaluation.provenance
    assert evaluation.provenance.models == (f"reviewed:{JUDGE}",)
    assert evaluation.provenance.reviewed == (
        "2 of 8 ratings changed by 2 people, who checked 2; they disagree on 1, where the median counts",
    )


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (JUDGE, {"a": 1.0, "b": 0.5}),
        (f"reviewed:{JUDGE}", {"a": 0.75, "b": 0.25}),
        ("human:bo", {"a": 0.0, "b": 1.0}),
    ],
)
def test_each_grader_alone(reviewed: Path, model: str, expected: dict[str, float]) -> None:
    assert means(cover(reviewed, grade_filter=GradeFilter(model=model))) == expected


def test_labels_of_passages_are_reviewed(reviewed: Path) -> None:
    one_entry = rubric_qrels(reviewed, label="count").qrels
    assert {(row.query_id, row.passage_id): row.relevance for row in one_entry} == {
        ("q1", "a-q1"): 1, ("q1", "b-q1"): 1, ("q2", "a-q2"): 2, ("q2", "b-q2"): 0,
    }  # fmt: skip


def test_the_verdict_says_what_people_changed(reviewed: Path) -> None:
    board = leaderboard(cover(reviewed), Statistics(places=True))
    said = verdict(board)
    assert said
    assert said.sentence.endswith("where the median counts.")
    alone = verdict(
        leaderboard(cover(reviewed, grade_filter=GradeFilter(model=JUDGE)), Statistics(places=True))
    )
    assert alone
    assert "changed" not in alone.sentence


def test_a_passage_that_only_people_graded_counts(write_jsonl: WriteLines) -> None:
    lines = [
        ["q1", [of_system("a", "q1", rubric({"x": 5}, llm="human:ann"))]],
        ["q2", [of_system("a", "q2", rubric({"x": 0}))]],
    ]
    assert means(cover(write_jsonl("g.jsonl", lines))) == {"a": 0.5}


def test_several_judges_are_still_asked_for(write_jsonl: WriteLines) -> None:
    """People are not counted, and an option names what differs alone."""
    sets = [rubric({"x": 5}, llm=name) for name in ("one", "two", "human:ann")]
    graded = write_jsonl("g.jsonl", [["q1", [of_system("a", "q1", *sets)]]])
    with pytest.raises(
        SelectionError,
        match="has 2 sets of grades; choose one: --grader reviewed:one or --grader reviewed:two",
    ):
        cover(graded)
    assert means(cover(graded, grade_filter=GradeFilter(model="reviewed:two"))) == {"a": 1.0}
    people = write_jsonl(
        "p.jsonl", [["q1", [of_system("a", "q1", *(rubric({"x": 5}, llm=f"human:{n}") for n in "ab"))]]]
    )
    with pytest.raises(SelectionError, match="choose one: --grader human:a or --grader human:b"):
        cover(people)
