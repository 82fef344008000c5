"""Grades by similarity in files, and ``exam-pp reread --cut-points``, which cuts them again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from exam_pp.data_model import RubricGrades
from exam_pp.llm.base import ModelOptions
from exam_pp.llm.similarity import SimilarityLLM
from exam_pp.store.passages.graded_file import read_passages
from tests.llm.test_similarity import E5_CUTS, Angles

RATING = "QuestionSelfRatedUnanswerablePromptWithChoices"
COSINES = {"near": 0.885, "far": 0.815}


@pytest.fixture
def graded(
    write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Two passages, graded by similarity and by the lexical baseline."""
    passages = [{"paragraph_id": text, "text": text} for text in COSINES]
    source = write_jsonl("passages.jsonl", [["q1", passages]])
    item = {"query_id": "q1", "question_id": "a", "question_text": "Is it near?"}
    bank = write_jsonl("bank.jsonl", [{"query_id": "q1", "items": [item]}])
    output = tmp_path / "lexical.jsonl"
    words = ["--bank", str(bank), "--prompt-class", RATING, "-o"]
    main(["-q", "grade", str(source), *words, str(output), "--model", "lexical"])

    def load(options: ModelOptions) -> SimilarityLLM:
        return SimilarityLLM(Angles(COSINES), options.cut_points or E5_CUTS)

    monkeypatch.setattr("exam_pp.phases.grading.grading_run.load_llm", load)
    graded = tmp_path / "graded.jsonl"
    main(["-q", "grade", str(output), *words, str(graded), "--model", "angles",
          "--model-pipeline", "sentence-similarity", "-M", "cut_points=.81,.84,.86,.88,.90"])  # fmt: skip
    return graded


def sets(path: Path, model: str = "angles") -> list[RubricGrades]:
    return [
        grades
        for query in read_passages(path)
        for passage in query.passages
        for grades in passage.rubric_grades or ()
        if grades.model == model
    ]


def ratings(path: Path, model: str = "angles") -> list[int]:
    return [grades.entry_ratings()["a"] for grades in sets(path, model)]


def test_other_cut_points_are_applied_to_the_stored_cosines(graded: Path, tmp_path: Path) -> None:
    assert ratings(graded) == [4, 1]
    again, back = tmp_path / "again.jsonl", tmp_path / "back.jsonl"
    main(["-q", "reread", str(graded), "-o", str(again), "--cut-points", ".8,.815,.88,.885,.95"])
    assert ratings(again) == [4, 2]
    assert ratings(again, "lexical") == ratings(graded, "lexical")
    (near, far) = sets(again)
    assert (near.prompt_info or {})["cut_points"] == [0.8, 0.815, 0.88, 0.885, 0.95]
    assert (near.model_options or {})["cut_points"] == list(E5_CUTS)
    assert [rating.source for rating in far.self_ratings or ()] == ["reread"]
    main(["-q", "reread", str(again), "-o", str(back), "--grader", "angles"])
    assert ratings(back) == [4, 1]
    assert "cut_points" not in (sets(back)[0].prompt_info or {})


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--cut-points .8,.9", "the prompt needs 5 cut points"),
        ("--cut-points .8,.82,.84,.86,.9 --grader lexical", "no similarity was cut into their grades"),
        ("--cut-points .9,.8", "is not ascending."),
        ("--cut-points high", "is not a list of numbers."),
    ],
)
def test_cut_points_that_do_not_fit_are_refused(
    graded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: str, problem: str
) -> None:
    with pytest.raises(SystemExit):
        main(["reread", str(graded), "-o", str(tmp_path / "again.jsonl"), *words.split()])
    assert problem in capsys.readouterr().err
