"""The environments that scripts/ makes: those of others are left alone, and a current one is used again."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def checkout(repository: Path, tmp_path: Path) -> Path:
    """The files from which the environment is made; pyproject.toml asks for nothing that exists."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(repository / "scripts" / "_environment.sh", tmp_path / "scripts")
    shutil.copytree(repository / "scripts" / "locks", tmp_path / "scripts" / "locks")
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'nothing'\n")
    (tmp_path / "constraints.txt").touch()
    return tmp_path


def prepare(checkout: Path, which: str) -> subprocess.CompletedProcess[str]:
    script = f'source scripts/_environment.sh {which}; echo "$PYTHON"'
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, "PIP_NO_INDEX": "1"}
    return subprocess.run(
        ["bash", "-c", script], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("which", ["demo", "dev"])
def test_a_folder_that_it_did_not_make_is_left_alone(checkout: Path, which: str) -> None:
    mine = checkout / f".venv-{which}" / "mine"
    mine.parent.mkdir()
    mine.touch()
    done = prepare(checkout, which)
    assert done.returncode == 1
    assert done.stderr.startswith(f".venv-{which} ")
    assert done.stderr.count("\n") == 1
    assert mine.exists()


def test_a_half_made_environment_is_made_again(checkout: Path) -> None:
    """Installation fails here: there is no package index. The next start replaces the folder."""
    assert prepare(checkout, "demo").returncode == 1
    left = checkout / ".venv-demo" / "left"
    left.touch()
    second = prepare(checkout, "demo")
    assert second.returncode == 1
    assert "Preparing the environment in .venv-demo" in second.stderr
    assert not left.exists()
