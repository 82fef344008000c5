"""Write the golden verification reports of a small graded file. Check the diff before committing.

Usage: python scripts/golden_reports.py
"""

from __future__ import annotations

import re
from pathlib import Path

from exam_pp import provenance
from exam_pp.cli.main import main

GOLDEN = Path(__file__).resolve().parents[1] / "tests" / "golden" / "reports"
REPORTS = {
    "grading": [],
    "grid": [],
    "uncovered": [],
    "spurious": ["-S", "often=2"],
    "disagreements": [],
    "unparsed": [],
}
"""Report name to command line options."""
VERSION = "VERSION"
"""Stands for the version of exam_pp, so that the files stay the same in the next version."""


def command(report: str, form: str) -> list[str]:
    """The command line of a golden report."""
    files = [str(GOLDEN / "graded.jsonl"), "--bank", str(GOLDEN / "bank.jsonl")]
    return ["--quiet", "verify", report, *files, *REPORTS[report], "--format", form]


def without_assets(page: str) -> str:
    """The page without its style and script, and without their hashes."""
    page = re.sub(r"(<(style|script)>).*?(</\2>)", r"\1\3", page, flags=re.DOTALL)
    return re.sub(r"'sha256-[^']*'", "'sha256-...'", page)


if __name__ == "__main__":
    provenance.VERSION = VERSION
    for name in REPORTS:
        for form, suffix in (("text", "txt"), ("html", "html")):
            path = GOLDEN / f"{name}.{suffix}"
            main([*command(name, form), "-o", str(path)])
            if form == "html":
                path.write_bytes(without_assets(path.read_bytes().decode()).encode())
