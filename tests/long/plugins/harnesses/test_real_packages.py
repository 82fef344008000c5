"""The adapters with the packages themselves, in an environment of their own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY

PACKAGES = ("pyterrier>=1.1,<2", "mlflow>=3.17,<4", "inspect-ai>=0.3.285,<0.4")


def test_pyterrier_mlflow_and_inspect_ai_have_our_scores(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    python = str(environment / "bin" / "python")
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *PACKAGES], capture_output=True, text=True, check=False
    )
    if installed.returncode:
        sys.stderr.write(installed.stderr)
        pytest.skip("the harnesses cannot be installed")
    # After the packages of the environment itself, so that these are the installed versions.
    (site,) = environment.glob("lib/python*/site-packages")
    (site / "tests.pth").write_text(sysconfig.get_paths()["purelib"], encoding="utf-8")
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-o", "filterwarnings=", "-rs",
         "tests/plugins/harnesses"],
        cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:]
    assert "skipped" not in done.stdout
