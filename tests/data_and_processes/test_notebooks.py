"""Notebooks print what they show."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "run_notebook.py"
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def check(notebook: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), str(notebook), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.name)
def test_stored_outputs_of_notebooks_are_up_to_date(notebook: Path) -> None:
    done = check(notebook)
    assert done.returncode == 0, f"{done.stderr}\nrun python scripts/run_notebook.py {notebook}"
