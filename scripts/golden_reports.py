"""Write the golden verification reports of a small graded file. Check the diff before committing.

Usage: python scripts/golden_reports.py
"""

from __future__ import annotations

from pathlib import Path

from exam_pp import provenance
from exam_pp.cli.main import main

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "reports"
REPORTS = {
    "grading": [],
    "grid": [],
    "uncovered": [],
    "spurious": ["--often", "2", "--max-examples", "2"],
    "disagreements": [],
    "unparsed": [],
    "sample": ["--limit", "6"],
}
"""Report name to command line options."""
VERSION = "VERSION"
"""Stands for the version of exam_pp, so that the files stay the same in the next version."""


def command(report: str, form: str) -> list[str]:
    """The command line of a golden report."""
    files = [str(GOLDEN / "graded.jsonl"), "--bank", str(GOLDEN / "bank.jsonl")]
    return ["--quiet", "verify", report, *files, *REPORTS[report], "--format", form]


if __name__ == "__main__":
    provenance.VERSION = VERSION
    for name in REPORTS:
        for form, suffix in (("text", "txt"), ("html", "html")):
            main([*command(name, form), "-o", str(GOLDEN / f"{name}.{suffix}")])
