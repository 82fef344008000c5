"""A study that is killed continues."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.cli.study.test_run import contents

MOMENTS = (
    "passages.jsonl.gz", "replies-1.journal", "graded.jsonl.gz", "report/index.html", "answers.jsonl.gz",
    "replies-nuggets.journal", "assigned.jsonl.gz",
)  # fmt: skip
"""Files of a study; the command is killed as soon as one of them exists."""


def test_a_killed_study_continues_to_the_same_bytes(demo_data: Path, tmp_path: Path) -> None:
    """``kill -9`` when a file appears; the last call does the rest."""
    inputs = [
        *("--runs", demo_data / "runs", "--texts", demo_data / "passages.tsv", "--top", 3),
        *("--queries", demo_data / "queries.jsonl", "--bank", demo_data / "questions.jsonl"),
        *("--bank", demo_data / "nuggets.jsonl", "--answers", demo_data / "answers" / "gen-long.jsonl"),
    ]
    command = [sys.executable, "-m", "exam_pp", "run", *map(str, inputs), "--model", "lexical", "-o", "study"]
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    subprocess.run(command, cwd=whole, check=True, capture_output=True)
    for name in MOMENTS:
        with subprocess.Popen(
            command, cwd=killed, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            while process.poll() is None and not (killed / "study" / name).exists():
                time.sleep(0.005)
            process.kill()
        assert process.returncode == -signal.SIGKILL, name
    subprocess.run(command, cwd=killed, check=True, capture_output=True)
    expected, actual = contents(whole / "study"), contents(killed / "study")
    assert {name for name in actual if actual[name] != expected.get(name)} == set()
    assert actual.keys() == expected.keys()
