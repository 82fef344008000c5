"""Assignment of the demo's nuggets to its answers, from file to file, and its evaluation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import Nugget
from exam_pp.cli.main import main
from exam_pp.data_model import RubricGrades
from exam_pp.errors import SelectionError
from exam_pp.graders.base import PassageUnit
from exam_pp.graders.make import make_grader
from exam_pp.llm import ModelOptions
from exam_pp.phases.grading.grade import GradeOptions
from exam_pp.phases.grading.grading_run import GradeFiles, grade_file
from exam_pp.phases.grading.scheduler import Answerer, run_requests
from exam_pp.prompts import PROMPTS
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import Journal
from tests.conftest import passage
from tests.phases import nugget_material

LISTWISE, POINTWISE = "NuggetAssignment", "NuggetAssignmentPointwise"
NUGGETS = [
    Nugget(query_id="q1", nugget_id=f"q1/{text}", nugget_text=text)
    for text in ("Moon pulls", "Sun pulls", "twice a day")
]
UNIT = PassageUnit("q1", "ocean tides", "p1", "The Moon pulls, twice a day.", NUGGETS)


@pytest.fixture
def answers(demo_data: Path, tmp_path: Path) -> Path:
    """The whole answers of the demo's generative systems."""
    target = tmp_path / "answers.jsonl"
    files = [str(demo_data / "answers" / f"{name}.jsonl") for name in ("gen-long", "gen-short")]
    main(["-q", "import", "-o", str(target), "--answers", files[0], "--answers", files[1], "--unit", "whole"])
    return target


def grade(answers: Path, demo_data: Path, prompt: str, *more: str, model: str = "fake") -> Path:
    output = answers.with_name(f"{prompt}-{model}.jsonl")
    bank = str(demo_data / "nuggets.jsonl")
    main(["-q", "grade", str(answers), "-o", str(output), "--bank", bank, "--prompt", prompt,
          "--model", model, *more])  # fmt: skip
    return output


def rubrics(path: Path) -> list[RubricGrades]:
    return [
        grades for query in read_passages(path) for p in query.passages for grades in p.rubric_grades or ()
    ]


def cover(path: Path, bank: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    capsys.readouterr()
    main(["-q", "evaluate", "cover", str(path), "--bank", str(bank), "--format", "json"])
    rows = json.loads(capsys.readouterr().out)["tables"][0]["rows"]
    return {
        row["system"]: next(v for k, v in row.items() if k.startswith("Cover(min_grade=2)")) for row in rows
    }


@pytest.mark.parametrize("prompt", [LISTWISE, "NuggetAssignment2", POINTWISE])
def test_every_answer_is_labelled_and_can_be_evaluated(
    answers: Path, demo_data: Path, prompt: str, capsys: pytest.CaptureFixture[str]
) -> None:
    graded = grade(answers, demo_data, prompt)
    grades = rubrics(graded)
    assert len(grades) == 40
    for each in grades:
        assert each.assignments
        ratings = {"support": 2, "partial_support": 1, "not_support": 0}
        assert {item.nugget_id: ratings[item.assignment] for item in each.assignments} == each.entry_ratings()
    scores = cover(graded, demo_data / "nuggets.jsonl", capsys)
    assert scores["gen-long"] > scores["gen-short"], "full support covers by default"
    main(["-q", "evaluate", "qrels", str(graded), "--bank", str(demo_data / "nuggets.jsonl")])
    assert {line.split()[3] for line in capsys.readouterr().out.splitlines()} <= {"0", "1", "2"}


def test_labels_that_are_read_again_count_as_nuggets(write_jsonl: Any, tmp_path: Path) -> None:
    """Ratings and labels agree after rereading; a duplicate nugget keeps a label for each occurrence."""
    grades = nugget_material.assigned("q1", "S-PP")
    grades["llm_response_errors"]["q1/n2"]["response"] = "not\\_support"
    grades["assignments"].append({"nugget_id": "q1/n4", "assignment": "historical"})
    grades["llm_response_errors"]["q1/n4"] = dict(
        grades["llm_response_errors"]["q1/n2"], response="historical"
    )
    graded = write_jsonl("graded.jsonl", [["q1", [passage("s/q1", exam_grades=[grades])]]])
    main(["-q", "reread", str(graded), "-o", str(tmp_path / "o.jsonl")])
    (again,) = rubrics(tmp_path / "o.jsonl")
    assert again.nugget_labels() == [
        ("q1/n1", "support"), ("q1/n3", "partial_support"), ("q1/n4", "partial_support"),
        ("q1/n4", "historical"), ("q1/n2", "not_support"),
    ]  # fmt: skip
    assert again.entry_ratings() == {"q1/n1": 2, "q1/n3": 1, "q1/n4": 1, "q1/n2": 0}
    assert list(again.errors or {}) == ["q1/n4"]


@pytest.mark.parametrize("model", ["lexical", "google/flan-t5-large"])
def test_lists_are_refused_where_they_cannot_be_read(answers: Path, demo_data: Path, model: str) -> None:
    with pytest.raises(SelectionError, match=f"'NuggetAssignment' .*'{model}'.* NuggetAssignmentPointwise"):
        grade_file(
            GradeFiles(answers, answers.with_name("g.jsonl"), demo_data / "nuggets.jsonl"),
            ModelOptions(model),
            GradeOptions([PROMPTS.get(LISTWISE)]),
        )


def assigned(llm: Any, name: str = LISTWISE) -> dict[str, str]:
    (grades,) = run_requests(
        [make_grader(PROMPTS.get(name), "m", {}).run(UNIT)], Answerer(llm, Journal(None))
    )
    return {item.nugget_id: item.assignment for item in grades.assignments or ()}  # type: ignore[union-attr]
