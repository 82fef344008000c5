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


def test_a_changed_output_is_detected(tmp_path: Path) -> None:
    text = NOTEBOOKS[0].read_text(encoding="utf-8")
    folder = tmp_path / "docs"
    folder.mkdir()
    (tmp_path / "data").symlink_to(ROOT / "data")
    changed = folder / "changed.ipynb"
    changed.write_text(text.replace("20 queries, 481 passages", "9 queries, 481 passages"), encoding="utf-8")
    done = check(changed)
    assert done.returncode == 1
    assert "prints\n20 queries, 481 passages" in done.stderr
