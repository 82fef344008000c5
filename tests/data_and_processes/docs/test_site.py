"""The documentation site: its navigation has every page, and the strict build succeeds."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.docs_site import ROOT, staged_path


def test_the_navigation_has_every_page_once() -> None:
    nav = re.findall(r'"(\S+\.md)"', (ROOT / "docs" / "zensical.toml").read_text("utf-8"))
    files = [path for path in (ROOT / "docs").rglob("*") if path.suffix in (".md", ".ipynb")]
    elsewhere = ("CHANGELOG.md", "CONTRIBUTING.md", "data/demo/README.md")
    sources = [*(str(path.relative_to(ROOT)) for path in files), *elsewhere]
    assert sorted(nav) == sorted(staged_path(source).removeprefix("docs/") for source in sources)


def test_the_site_builds_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="zensical is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "scripts.docs_site", tmp_path / "site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "index.html").is_file()


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="zensical is not installed")
    (tmp_path / "notes.txt").touch()
    done = subprocess.run(
        [sys.executable, "-m", "scripts.docs_site", tmp_path],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "is left alone" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
