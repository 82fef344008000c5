"""Consensus of the graders of a file, as a grader of its own name."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.data_model import DirectGrade, RubricGrades
from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.evaluation.cover import cover
from exam_pp.plugins.trust.consensus import consensus
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import passage, rubric

WriteLines = Callable[[str, list[Any]], Path]

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTED = "QuestionCompleteConciseUnanswerablePromptWithChoices"


def by(model: str, ratings: dict[str, int], **keys: Any) -> dict[str, Any]:
    return rubric(ratings, llm=model, **keys)


def ranked(system: str, passage_id: str) -> dict[str, Any]:
    ranking = {"method": system, "paragraphId": passage_id, "queryId": "q1", "rank": 1, "score": 1.0}
    return {"judgments": [], "rankings": [ranking]}


@pytest.fixture
def graded(write_jsonl: WriteLines) -> Path:
    """Three graders; the reviewer rated one pair, and a model did not rate p2."""
    p1 = [
        by("b", {"q1/a": 5, "q1/b": 1}),
        by("a", {"q1/a": 4, "q1/b": 2}),
        by("human:ann", {"q1/a": 0}),
    ]
    p2 = [by("b", {"q1/a": 3})]
    passages = [
        passage("p1", exam_grades=p1, paragraph_data=ranked("s", "p1")),
        passage("p2", exam_grades=p2),
    ]
    return write_jsonl("graded.jsonl", [["q1", passages]])


def sets_of(path: Path, model: str) -> list[RubricGrades | DirectGrade | None]:
    """The set of grades of each passage by a model, or None."""
    return [
        next((grades for grades in found.grade_sets() if grades.model == model), None)
        for query in read_passages(path)
        for found in query.passages
    ]


def test_ratings_provenance_and_other_grades(graded: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    summary = consensus(graded, output)
    first, second = sets_of(output, "panel:median")

    assert isinstance(first, RubricGrades)
    assert second is None
    assert first.entry_ratings() == {"q1/a": 4, "q1/b": 1}
    assert (first.correct, first.wrong, first.relevance_label) == (["q1/a", "q1/b"], [], 4)
    assert (first.kind, first.prompt_class, first.prompt_hash) == ("question", RATED, None)
    assert first.model_options == {
        "consensus": "median",
        "min_graders": 2,
        "members": [{"llm": name, "prompt_class": RATED} for name in ("a", "b", "human:ann")],
    }
    assert (summary.rated, summary.alone, summary.replaced) == (2, 1, 0)
    before, after = (json.loads(path.read_text()) for path in (graded, output))
    assert after[1][0]["exam_grades"][:3] == before[1][0]["exam_grades"]
    assert after[1][1] == before[1][1]


def test_other_commands_take_the_consensus_as_a_grader(graded: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    consensus(graded, output)
    scores = cover(output, grade_filter=GradeFilter(model="panel:median"), min_grade=4).scores
    assert {(score.system, score.value) for score in scores if score.metric.startswith("Cover")} == {
        ("s", 0.5),
        ("_overall_", 0.5),
    }
    main(["validate", str(output)])


def test_adding_again_replaces_the_consensus_of_this_name(graded: Path, tmp_path: Path) -> None:
    once, twice, other = (tmp_path / name for name in ("once.jsonl", "twice.jsonl", "other.jsonl"))
    consensus(graded, once)
    assert consensus(once, twice).replaced == 1
    assert twice.read_bytes() == once.read_bytes()

    assert consensus(once, other, rule="mean").members == consensus(graded, twice).members
    assert sets_of(other, "panel:mean")[0].entry_ratings() == {"q1/a": 3, "q1/b": 1}  # type: ignore[union-attr]
    assert sets_of(other, "panel:median")[0] is not None


def test_chosen_graders_and_number(graded: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    consensus(graded, output, graders=["b", "human:ann"], name="two", min_graders=1)
    first, second = (grades and grades.entry_ratings() for grades in sets_of(output, "two"))
    assert (first, second) == ({"q1/a": 0, "q1/b": 1}, {"q1/a": 3})


def test_direct_grades_and_a_scale_that_exam_pp_does_not_know(
    write_jsonl: WriteLines, tmp_path: Path
) -> None:
    info = {"prompt_class": "Mine", "is_self_rated": True, "max_rating": 3}
    grades = [
        {"correctAnswered": True, "answer": "3", "llm": model, "prompt_info": info, "self_ratings": rating,
         "prompt_type": "direct_grading"}
        for model, rating in (("a", 3), ("b", 2), ("c", 2))
    ]  # fmt: skip
    graded = write_jsonl("graded.jsonl", [["q1", [passage("p1", grades=grades)]]])
    output = tmp_path / "out.jsonl"
    consensus(graded, output, rule="majority")
    (direct,) = sets_of(output, "panel:majority")
    assert isinstance(direct, DirectGrade)
    assert (direct.self_ratings, direct.correct, direct.max_rating, direct.kind) == (2, True, 3, "direct")


def test_right_and_wrong_answers(write_jsonl: WriteLines, tmp_path: Path) -> None:
    def answered(model: str, correct: Sequence[str], wrong: Sequence[str]) -> dict[str, Any]:
        grades = by(model, {}, prompt_info={"prompt_class": EXTRACTED, "is_self_rated": False})
        del grades["self_ratings"]
        return {**grades, "correctAnswered": correct, "wrongAnswered": wrong}

    sets = [answered("a", ["x", "y"], []), answered("b", ["x"], ["y"])]
    graded = write_jsonl("graded.jsonl", [["q1", [passage("p1", exam_grades=sets)]]])
    output = tmp_path / "out.jsonl"
    consensus(graded, output, prompt_classes=[EXTRACTED])
    (grades,) = sets_of(output, "panel:median")
    assert isinstance(grades, RubricGrades)
    assert (grades.correct, grades.wrong, grades.self_ratings) == (["x"], ["y"], None)


def test_nugget_assignments(write_jsonl: WriteLines, tmp_path: Path) -> None:
    labels = ["not_support", "partial_support", "support"]
    sets = [
        {
            **by(model, {}, prompt_type="nugget", prompt_info={"prompt_class": "NuggetAssignment"}),
            "self_ratings": [{"nugget_id": "n1", "self_rating": rating}],
            "assignments": [{"nugget_id": "n1", "assignment": labels[rating]}],
        }
        for model, rating in (("a", 2), ("b", 1), ("c", 0))
    ]
    graded = write_jsonl("graded.jsonl", [["q1", [passage("p1", exam_grades=sets)]]])
    output = tmp_path / "out.jsonl"
    consensus(graded, output)
    (grades,) = sets_of(output, "panel:median")
    assert grades is not None
    assert grades.nugget_labels() == [("n1", "partial_support")]
    assert grades.entry_ratings() == {"n1": 1}


def test_prompt_classes_with_the_same_scale(write_jsonl: WriteLines, tmp_path: Path) -> None:
    def info(name: str, highest: int) -> dict[str, Any]:
        return {"prompt_class": name, "is_self_rated": True, "max_rating": highest}

    def file(highest: int) -> Path:
        sets = [
            by("a", {"x": 3}, prompt_info=info("A", 5)),
            by("a", {"x": 5}, prompt_info=info("B", highest)),
        ]
        return write_jsonl("graded.jsonl", [["q1", [passage("p1", exam_grades=sets)]]])

    output = tmp_path / "out.jsonl"
    consensus(file(5), output, rule="mean")
    (grades,) = sets_of(output, "panel:mean")
    assert grades is not None
    assert (grades.prompt_class, grades.max_rating, grades.entry_ratings()) == ("PanelConsensus", 5, {"x": 4})

    with pytest.raises(SelectionError, match=r"different scales; choose with --prompt: A .*0 to 5.*; B"):
        consensus(file(3), output)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"min_graders": 4}, "A consensus needs ratings of 4 graders"),
        ({"name": "human:ann"}, "cannot be the name of a consensus"),
        ({"name": " "}, "cannot be the name of a consensus"),
        ({"name": "a"}, "which are no consensus: choose another --name"),
        ({"graders": ["nobody"]}, "has no grades by --grader 'nobody'; it has those of"),
        ({"prompt_classes": ["Nothing"]}, "has no grades by --prompt 'Nothing'"),
        ({"graders": ["x"], "name": "x"}, "cannot be a member"),
    ],
)
def test_mistakes(graded: Path, tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SelectionError, match=message):
        consensus(graded, tmp_path / "out.jsonl", **{"min_graders": 1} | options)
    assert not (tmp_path / "out.jsonl").exists()


def test_the_command_reports_members_and_ties(
    graded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["consensus", str(graded), "-o", str(tmp_path / "out.jsonl"), "--name", "all"])
    messages = capsys.readouterr().err
    assert "2 ratings added as all with the prompt self-rated: the median of 3 graders" in messages
    assert "1 pair has no consensus: fewer than 2 graders rated them (-S min-graders)." in messages


def test_reread_leaves_a_consensus_as_it_is(
    graded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    added, read = tmp_path / "added.jsonl", tmp_path / "read.jsonl"
    consensus(graded, added)
    main(["reread", str(added), "-o", str(read)])
    assert "they are a consensus of graders" in capsys.readouterr().err
    assert sets_of(read, "panel:median") == sets_of(added, "panel:median")
