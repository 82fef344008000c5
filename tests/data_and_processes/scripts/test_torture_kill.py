"""Gradings that are killed at random moments resume, with the output of an uninterrupted run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def torture(repository: Path, kills: int, **environment: str) -> str:
    result = subprocess.run(
        [repository / "scripts" / "torture_kill.sh", str(kills)],
        env={**os.environ, "EXAM_PP_PYTHON": sys.executable, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout.strip()


def test_three_kills_of_the_fake_model(repository: Path) -> None:
    printed = torture(repository, 3, MODEL="fake", PASSAGES_PER_QUERY="60")
    assert printed == "3 kills, 0 grades lost, output identical"
