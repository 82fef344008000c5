"""The walk-through runs all phases, and writes the files of the workbench paper under their names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from exam_pp.cli.main import main
from exam_pp.store.passages.graded_file import read_passages

QUESTIONS = "QuestionSelfRatedUnanswerablePromptWithChoices"
NUGGETS = "NuggetSelfRatedPrompt"
NAME = "trecDL2020-qrels-runs-with-text.jsonl.gz"
RATED = f"questions-explain--questions-rate--nuggets-explain--nuggets-rate--{NAME}"


def evaluation_files(prompt: str, grade: int) -> set[str]:
    solo = f"{prompt}-minrating-{grade}.solo"
    correlation = f"{prompt}-minlevel-{grade}.correlation.tsv"
    return {
        f"dl20-rubric-qrels-{solo}.qrels",
        f"dl20-rubric-qrels-leaderboard-{solo}.mrr.tsv",
        f"dl20-rubric-cover-leaderboard-{solo}.tsv",
        f"dl20-rubric-qrels-leaderboard-{correlation}",
        f"dl20-rubric-cover-leaderboard-{correlation}",
    }


def walk(repository: Path, demo_data: Path, passages: Path, folder: Path, **variables: str) -> None:
    done = subprocess.run(
        [
            repository / "scripts" / "walkthrough-dl20.sh", demo_data / "queries.jsonl", passages,
            demo_data / "runs", demo_data / "official_leaderboard.json", folder,
        ],
        env={
            **os.environ,
            "EXAM_PP_PYTHON": sys.executable,
            "WALKTHROUGH_MODEL": "lexical",
            "WALKTHROUGH_GENERATOR": "fake",
            "WALKTHROUGH_GENERATOR_OPTIONS": "",
            **variables,
        },
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def passages(demo_data: Path, tmp_path: Path) -> Path:
    path = tmp_path / NAME
    texts, qrels = demo_data / "passages.tsv", demo_data / "qrels.txt"
    main(["-q", "import", "--runs", str(demo_data / "runs"), "--texts", str(texts), "--qrels", str(qrels),
          "--top", "2", "-o", str(path)])  # fmt: skip
    return path


# The script starts about sixty commands.
@pytest.mark.timeout(900)
def test_all_phases(repository: Path, demo_data: Path, passages: Path, tmp_path: Path) -> None:
    """From queries and passages to Table 4, with generated systems, both prompts and three thresholds."""
    out = tmp_path / "out"
    walk(repository, demo_data, passages, out, WALKTHROUGH_STYLES="web direct")

    table_3 = {
        "dl20-questions.jsonl.gz", "dl20-nuggets.jsonl.gz", RATED,
        *(f"dl20-{report}{suffix}.txt"
          for report in ("verify-grading", "bad-question", "uncovered-passages", "grid-display")
          for suffix in ("", "-nuggets")),
        *(name for prompt in (QUESTIONS, NUGGETS) for grade in (3, 4, 5)
          for name in evaluation_files(prompt, grade)),
        *(f"dl20-rubric-inter-annotator-{prompt}.tex" for prompt in (QUESTIONS, NUGGETS)),
    }  # fmt: skip
    assert {path.name for path in out.iterdir()} >= table_3
    classes = {
        grades.prompt_class
        for query in read_passages(out / RATED)
        for passage in query.passages
        for grades in passage.grade_sets()
    }
    assert len(classes) == 4, "ratings and extracted answers for questions and for nuggets"

    header, *lines = [line.split("\t") for line in (out / "dl20-table-4.tsv").read_text().splitlines()]
    measures = [name for name in header[1:-1] if not name.endswith(("stderr", "case", "open"))]
    assert measures == [f"RR(rel={grade})[{kind}]" for kind in ("question", "nugget") for grade in (4, 3, 5)]
    ranks = {line[0]: line[-1] for line in lines}
    official = json.loads((demo_data / "official_leaderboard.json").read_text())
    assert {system: rank for system, rank in ranks.items() if not rank.startswith("≈")} == {
        system: f"{rank:g}" for system, rank in official.items()
    }
    assert {system for system, rank in ranks.items() if rank.startswith("≈")} == {"fake-web", "fake-direct"}
    alone = (out / f"dl20-rubric-qrels-leaderboard-{QUESTIONS}-minrating-4.solo.mrr.tsv").read_text()
    assert {line.split("\t")[0]: line.split("\t")[1] for line in alone.splitlines()[1:]} == {
        line[0]: line[header.index("RR(rel=4)[question]")] for line in lines
    }
