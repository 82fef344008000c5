"""Every damaged model folder gives one sentence, or works, and ends in time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.reliability.attacks.names_and_models import DAMAGES
from scripts.reliability.damaged_models import damages


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_sample_of_damaged_models(repository: Path) -> None:
    """In a process of its own, whose children are the gradings; the script alone tries all damages."""
    done = subprocess.run(
        [sys.executable, "-m", "scripts.reliability.damaged_models", "--every", "5"],
        cwd=repository, capture_output=True, text=True, check=False,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(repository)},
    )  # fmt: skip
    assert done.returncode == 0, "\n".join(line for line in done.stdout.splitlines() if "PROBLEM" in line)


def test_the_kinds_of_damage() -> None:
    names = [damage.name for damage in damages()]
    assert len(names) == len(set(names)) > 230
    assert {f"text2text, {name}" for name in DAMAGES} <= set(names)
