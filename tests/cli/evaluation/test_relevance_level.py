"""The relevance level of measures on labels from grades: by default the threshold of Rubric-Cover."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from tests.conftest import passage

WriteJsonl = Callable[[str, list[Any]], Path]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Labels of tiny_passages: p1 has 5, p2 4, p3 2."""
    folder = tmp_path / "runs"
    folder.mkdir()
    (folder / "one.run").write_text("q1 Q0 p1 1 2 t\nq1 Q0 p2 2 1 t\n007 Q0 p3 1 1 t\n")
    return folder


@pytest.fixture
def means(capfd: pytest.CaptureFixture[str], runs: Path) -> Callable[..., tuple[dict[str, float], list[str]]]:
    """A function that returns the means and notes of `exam-pp evaluate qrels` for the run."""

    def call(graded: Path, *arguments: object) -> tuple[dict[str, float], list[str]]:
        main(["evaluate", "qrels", str(graded), "--runs", str(runs), *map(str, arguments),
              "--format", "json"])  # fmt: skip
        printed = json.loads(capfd.readouterr().out)
        (row,) = printed["tables"][0]["rows"]
        found = {key: value for key, value in row.items() if "(" in key or key in MEASURES}
        return {key: value for key, value in found.items() if " " not in key}, printed["notes"]

    return call


MEASURES = ("RR", "P@1", "nDCG@10", "NumRel", "AP")
Means = Callable[..., tuple[dict[str, float], list[str]]]


def test_the_default_is_the_threshold_of_cover(means: Means, tiny_passages: Path) -> None:
    found, notes = means(tiny_passages, "-m", "RR", "-m", "P@1", "-m", "nDCG@10")
    assert found == {"RR(rel=4)": 0.5, "P(rel=4)@1": 0.5, "nDCG@10": 1.0}
    assert not [note for note in notes if "level" in note]


@pytest.mark.parametrize("label", ["count", "binary"])
def test_labels_with_a_threshold_keep_the_level_1(means: Means, tiny_passages: Path, label: str) -> None:
    assert means(tiny_passages, "-m", "RR", "--label", label)[0] == {"RR": 0.5}


def test_a_measure_that_cannot_have_the_level_keeps_its_own(means: Means, tiny_passages: Path) -> None:
    assert means(tiny_passages, "-m", "NumRel")[0].keys() == {"NumRel"}


def test_filled_qrels_have_the_scale_of_the_judgments(
    means: Means, tiny_passages: Path, tmp_path: Path
) -> None:
    (tmp_path / "human.qrels").write_text("q1 0 p2 1\n007 0 p3 1\n")
    filled = "--fill-holes", tmp_path / "human.qrels"
    assert means(tiny_passages, "-m", "RR", *filled)[0] == {"RR": 1.0}
    assert means(tiny_passages, "-m", "RR", *filled, "--min-grade", 4)[0] == {"RR(rel=4)": 0.5}


@pytest.mark.parametrize(
    ("prompt", "label", "level"),
    [("GradedRelevance", 3, 3), ("GradedRelevance", 2, 3), ("FagB_few", 1, 1), ("Thomas", 1, 2)],
)
def test_direct_labels_have_the_top_of_their_scale(
    means: Means, write_jsonl: WriteJsonl, prompt: str, label: int, level: int
) -> None:
    grades = {
        "correctAnswered": label > 0,
        "llm": "m",
        "llm_options": {},
        "prompt_info": {"prompt_class": prompt},
        **({} if prompt == "FagB_few" else {"self_ratings": label}),
    }
    graded = write_jsonl("direct.jsonl", [["q1", [passage("p1", grades=[grades])]]])
    found, notes = means(graded, "-m", "RR")
    name = f"RR(rel={level})" if level > 1 else "RR"  # ir-measures does not show the level 1
    assert found == {name: float(label >= level)}
    note = f"No label reaches the relevance level of RR(rel={level}); the highest is {label}."
    assert (note in notes) == (label < level)
    assert means(graded, "-m", "RR", "--min-grade", 1)[0] == {"RR": 1.0}
