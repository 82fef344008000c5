"""The walk-through writes the files of the workbench paper's Table 3, with the same names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROMPT = "QuestionSelfRatedUnanswerablePromptWithChoices"
TABLE_3 = {
    "dl20-verify-grading.txt",
    "dl20-bad-question.txt",
    "dl20-uncovered-passages.txt",
    "dl20-grid-display.txt",
    f"dl20-rubric-qrels-{PROMPT}-minrating-4.solo.qrels",
    f"dl20-rubric-qrels-leaderboard-{PROMPT}-minrating-4.solo.mrr.tsv",
    f"dl20-rubric-cover-leaderboard-{PROMPT}-minrating-4.solo.tsv",
    f"dl20-rubric-qrels-leaderboard-{PROMPT}-minlevel-4.correlation.tsv",
    f"dl20-rubric-cover-leaderboard-{PROMPT}-minlevel-4.correlation.tsv",
    f"dl20-rubric-inter-annotator-{PROMPT}.tex",
}


@pytest.mark.integration
def test_walkthrough(repository: Path, tiny_passages: Path, tiny_bank: Path, tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / "one.run").write_text("q1 Q0 p1 1 2 t\nq1 Q0 p2 2 1 t\n007 Q0 p3 1 1 t\n")
    (runs / "bm25.run").write_text("q1 Q0 p2 1 2 t\n")
    (runs / "new.run").write_text("007 Q0 p3 1 1 t\n")
    official = tmp_path / "official.json"
    official.write_text('{"one": 1, "bm25": 2}')
    out = tmp_path / "out"
    done = subprocess.run(
        [repository / "scripts" / "walkthrough-dl20.sh", tiny_passages, tiny_bank, runs, official, out],
        env={**os.environ, "EXAM_PP_PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert {path.name for path in out.iterdir()} >= TABLE_3
    assert all((out / name).stat().st_size for name in TABLE_3)
    titles = {name: (out / name).read_text().split(":")[0] for name in TABLE_3 if name.endswith(".txt")}
    assert titles == {
        "dl20-verify-grading.txt": "Verify grading",
        "dl20-bad-question.txt": "Spurious bank entries",
        "dl20-uncovered-passages.txt": "Relevant passages that cover no entry",
        "dl20-grid-display.txt": "Grid of passages and bank entries",
    }
    leaderboard = (out / f"dl20-rubric-qrels-leaderboard-{PROMPT}-minlevel-4.correlation.tsv").read_text()
    assert {line.split("\t")[0]: line.split("\t")[4] for line in leaderboard.splitlines()[1:-2]} == {
        "bm25": "2", "new": "≈2", "one": "1"
    }  # fmt: skip
    qrels = (out / f"dl20-rubric-qrels-{PROMPT}-minrating-4.solo.qrels").read_text()
    assert qrels == "q1 0 p1 1\nq1 0 p2 1\n007 0 p3 0\n"
