"""Grading from Python: objects are not changed, and files equal those of the command."""

from __future__ import annotations

from pathlib import Path

import exam_pp
from exam_pp.cli.main import main
from scripts.reliability.good_files import GOOD


def test_graded_citations_equal_those_of_the_command() -> None:
    Path("cited.jsonl").write_text(GOOD["cited.jsonl"])
    summary = exam_pp.grade_citations("cited.jsonl", "a.jsonl", model="fake")
    main(["-q", "grade", "cited.jsonl", "--prompt", "CitationSupport", "--model", "fake", "-o", "b.jsonl"])
    assert summary.graded.total() > 0
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()
