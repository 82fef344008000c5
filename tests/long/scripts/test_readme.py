"""README.md quotes a run of the demo."""

from __future__ import annotations

from pathlib import Path

import pytest

from exam_pp.llm.packaged_e5 import e5_problem
from scripts.make_screenshots import ROOT, demo_output, quoted


def test_the_output_in_the_readme_is_that_of_the_demo(tmp_path: Path) -> None:
    if e5_problem():
        pytest.skip("this machine cannot run e5")
    shown = quoted(demo_output(tmp_path / "demo"))
    assert f"```text\n{shown}\n```" in (ROOT / "README.md").read_text("utf-8")
