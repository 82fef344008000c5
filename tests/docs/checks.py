"""What pages print and write besides the shown outputs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.autojudge.test_page import table
from tests.autojudge.test_same_numbers import tau_ap, tied_above
from tests.docs.pages import read

EXPECTED = {
    "docs/how-to/answers.md": [r"gen-long"],
    "docs/how-to/nuggets.md": [r"^V_strict +2 +1\.000 +40 +1\.000 +20 +1\.000"],
    "docs/how-to/querying.md": [r"^\[\('question', 8578\)\]$", r"^\[\('lexical', 4289, "],
    "docs/how-to/verification.md": [r"2 ratings added as human:ana", r"human:ana +\S"],
    "docs/reference/python.md": [r"^20 queries, 179 questions$", r"passages.jsonl.gz has no grades"],
    "docs/start/quickstart.md": [
        r"^0 errors, 0 warnings\.", r"^good +100\.0 .*\nbad +50\.0 "
    ],
}  # fmt: skip
"""Patterns of lines that a page prints without showing them."""


def check(page: str, printed: str) -> None:
    """Fail if the outputs of a page or the files in the working directory are not the expected ones."""
    for pattern in EXPECTED.get(page, ()):
        assert re.search(pattern, printed, re.MULTILINE), pattern
    if page in CHECKS:
        CHECKS[page](printed)


def numbers_of_autojudge(_printed: str) -> None:
    """The table of τ-AP in both directions."""
    page = read("docs/how-to/autojudge.md")
    truth = means(Path("demo/truth.txt"))["nDCG@10"]
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in table(page, "measure | τ-AP")}
    for measure, by_run in means(Path("demo-out/default.eval.txt")).items():
        scores, official = [by_run[run] for run in truth], list(truth.values())
        forward, backward = tau_ap(scores, official), tau_ap(official, scores)
        ties = tied_above(scores, official) + tied_above(official, scores)
        assert forward is not None
        assert backward is not None
        numbers = [forward, backward, ties, (forward + backward - ties) / 2]
        assert rows[measure] == pytest.approx([*numbers, numbers[-1]], abs=0.0006)


def means(path: Path) -> dict[str, dict[str, float]]:
    """Measure to run to mean."""
    by_measure: dict[str, dict[str, float]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        run, topic, measure, value = line.split("\t")
        if topic == "all":
            by_measure.setdefault(measure, {})[run] = float(value)
    return by_measure


CHECKS: dict[str, Callable[[str], None]] = {
    "docs/how-to/autojudge.md": numbers_of_autojudge,
}
