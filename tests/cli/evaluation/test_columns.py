"""Leaderboards with a column for each threshold, prompt and grader: Table 4 of the workbench paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp.cli.main import main

Leaderboard = Callable[..., dict[str, Any]]
Columns = dict[str, dict[str, float]]
QUESTIONS = "QuestionSelfRatedUnanswerablePromptWithChoices"
NUGGETS = "NuggetSelfRatedPrompt"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, demo_data: Path) -> Path:
    """The demo passages, rated for questions and for nuggets by two models."""
    folder = tmp_path_factory.mktemp("columns")
    texts, runs = demo_data / "passages.tsv", demo_data / "runs"
    command(folder, "import", "--runs", runs, "--texts", texts, "--top", 3, "-o", "0")
    grades = [("random", "questions", QUESTIONS), ("lexical", "questions", QUESTIONS),
              ("lexical", "nuggets", NUGGETS)]  # fmt: skip
    for number, (model, bank, prompt) in enumerate(grades):
        command(
            folder, "grade", folder / str(number), "--bank", demo_data / f"{bank}.jsonl",
            "--prompt", prompt, "--model", model, "-o", number + 1,
        )  # fmt: skip
    return folder / "3"


def command(folder: Path, *arguments: object) -> None:
    main(["-q", *map(str, arguments[:-1]), str(folder / str(arguments[-1]))])


@pytest.fixture
def leaderboard(files: Path, demo_data: Path, tmp_path: Path) -> Leaderboard:
    """Run an ``evaluate`` command on the graded file with both banks; its document."""

    def call(kind: str, *options: object) -> dict[str, Any]:
        banks = ("--bank", demo_data / "questions.jsonl", "--bank", demo_data / "nuggets.jsonl")
        runs = ("--runs", demo_data / "runs") if kind == "qrels" else ()
        command(tmp_path, "evaluate", kind, files, *banks, *runs, *options, "--format", "json", "-o", "out")
        document: dict[str, Any] = json.loads((tmp_path / "out").read_text())
        return document

    return call


def columns(document: dict[str, Any], names: Sequence[str] | None = None) -> Columns:
    """Measure to system to score."""
    rows = document["tables"][0]["rows"]
    return {
        name: {row["system"]: row[name] for row in rows}
        for name in names or rows[0]
        if name != "system" and not name.endswith(("stderr", "case", "open", "rank"))
    }


LEXICAL = ("--grader", "lexical")


def test_table_4_is_one_command(leaderboard: Leaderboard, demo_data: Path) -> None:
    """Every column equals that of a command of its own."""
    both = ("--prompt", QUESTIONS, "--prompt", NUGGETS)
    grades = ("--min-grade", 4, "--min-grade", 3, "--min-grade", 5)
    official = ("--official", demo_data / "official_leaderboard.json")
    document = leaderboard("qrels", *LEXICAL, *both, *grades, "-m", "RR", *official)

    alone = {
        f"RR(rel={grade})[{kind}]": columns(
            leaderboard("qrels", *LEXICAL, "--prompt", prompt, "--min-grade", grade, "-m", "RR")
        )[f"RR(rel={grade})"]
        for kind, prompt in (("question", QUESTIONS), ("nugget", NUGGETS))
        for grade in (4, 3, 5)
    }
    assert columns(document) == alone
    assert len({tuple(sorted(column.items())) for column in alone.values()}) > 3
    (note,) = [note for note in document["notes"] if note.startswith("Correlation")]
    assert all(f"{name}: Spearman" in note for name in alone)
    assert {row["system"]: row["official rank"] for row in document["tables"][0]["rows"]}["rerank"] == "1"


@pytest.mark.parametrize("label", ["count", "binary"])
def test_labels_that_use_the_threshold_have_its_name(leaderboard: Leaderboard, label: str) -> None:
    asked = (*LEXICAL, "--prompt", QUESTIONS, "--label", label, "-m", "nDCG@10", "-m", "RR")
    together = columns(leaderboard("qrels", *asked, "--min-grade", 3, "--min-grade", 5))

    for grade in (3, 5):
        alone = columns(leaderboard("qrels", *asked, "--min-grade", grade))
        assert together[f"nDCG(min_grade={grade})@10"] == alone["nDCG@10"]
        assert together[f"RR(min_grade={grade})"] == alone["RR"]
    assert together["RR(min_grade=3)"] != together["RR(min_grade=5)"]
    assert len(together) == 4


def test_graders_with_several_prompts_have_both_names(leaderboard: Leaderboard) -> None:
    prompts = ("--prompt", QUESTIONS, "--prompt", QUESTIONS)
    names = list(columns(leaderboard("cover", *prompts, *LEXICAL, "--grader", "random", "--cutoff", 3)))
    assert names[::2] == ["Cover(min_grade=4)@3[lexical]", "Cover(min_grade=4)@3[random]"]


def test_subtopic_labels_at_several_thresholds(leaderboard: Leaderboard) -> None:
    pytest.importorskip("pyndeval")
    asked = (*LEXICAL, "--prompt", QUESTIONS, "--facets", "entry", "-m", "StRecall@20")
    together = columns(leaderboard("qrels", *asked, "--min-grade", 3, "--min-grade", 5))
    alone = columns(leaderboard("qrels", *asked, "--min-grade", 5))

    assert list(together) == ["StRecall(rel=3)@20", "StRecall(rel=5)@20"]
    assert together["StRecall(rel=5)@20"] == alone["StRecall(rel=5)@20"]


def test_cover_counts_only_the_entries_of_the_prompt(
    leaderboard: Leaderboard, files: Path, demo_data: Path
) -> None:
    """With both banks, questions are not missing entries of the leaderboard by nuggets."""
    both = columns(leaderboard("cover", *LEXICAL, "--prompt", NUGGETS, "--cutoff", 3))
    alone = exam_pp.cover(
        files, demo_data / "nuggets.jsonl", cutoff=3,
        grade_filter=exam_pp.GradeFilter(model="lexical", prompt_class=NUGGETS),
    )  # fmt: skip
    by_type = columns(leaderboard("cover", *LEXICAL, "--grades", "type=nugget", "--cutoff", 3))

    means = {row.system: row.mean for row in exam_pp.leaderboard(alone) if row.metric.startswith("Cover")}
    assert both["Cover(min_grade=4)@3"] == pytest.approx(means, abs=1e-6)
    assert by_type == both
