"""Every plug-in can be deleted: without its folder and its tests, all other tests pass."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
OWN_FILES = {
    "autojudge": ["scripts/docker/Dockerfile.autojudge"],
    "games": ["scripts/bench/elo.py"],
    "trust": ["scripts/bench/annotators.py", "scripts/bench/corrected.py"],
}
"""Files of a plug-in outside of its folder, beside its page in docs."""


@pytest.mark.parametrize(
    "name", sorted(path.parent.name for path in (ROOT / "exam_pp").glob("plugins/*/plugin.py"))
)
def test_without_the_plug_in(name: str, tmp_path: Path) -> None:
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    gone = (
        f"exam_pp/plugins/{name}/",
        f"tests/plugins/{name}/",
        "tests/docs",
        "tests/test_docs_site",
    )
    for file in files.splitlines():
        if not file.startswith(gone) and file not in OWN_FILES.get(name, ()):
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, tmp_path / file)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path,
        # Tests of what two plug-ins share are skipped.
        env={key: value for key, value in os.environ.items() if key != "EXAM_PP_SKIPS"}
        | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
