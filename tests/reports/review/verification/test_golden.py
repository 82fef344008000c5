"""Golden reports of a small file; `scripts/golden_reports.py` writes them."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp import provenance
from exam_pp.cli.main import main

ROOT = Path(__file__).resolve().parents[4]
GOLDEN = ROOT / "tests" / "golden" / "reports"
SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "golden_reports.py"), run_name="golden")
COMMAND: Callable[[str, str], list[str]] = SCRIPT["command"]
WITHOUT_ASSETS: Callable[[str], str] = SCRIPT["without_assets"]


@pytest.mark.parametrize(("form", "suffix"), [("text", "txt"), ("html", "html")])
@pytest.mark.parametrize("report", SCRIPT["REPORTS"])
def test_golden_report(
    report: str,
    form: str,
    suffix: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(provenance, "VERSION", SCRIPT["VERSION"])
    main(COMMAND(report, form))
    output = capsys.readouterr().out
    if form == "html":
        output = WITHOUT_ASSETS(output)
    assert output == (GOLDEN / f"{report}.{suffix}").read_text(encoding="utf-8")
