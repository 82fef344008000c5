"""HTML reports in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import RATED, run
from tests.conftest import passage, rubric

pytestmark = pytest.mark.browser

ARABIC = "تنتج المد والجزر عن جاذبية القمر."


@pytest.fixture
def report(write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path) -> Path:
    judgment = {"paragraphId": "p", "query": "q", "relevance": 2, "titleQuery": "q"}
    one = passage(text=ARABIC, exam_grades=[rubric({"q/a": 1})])
    one["paragraph_data"]["judgments"] = [judgment]
    graded = write_jsonl("graded.jsonl", [["q", [one]]])
    run(
        "verify",
        "disagreements",
        graded,
        "--prompt-class",
        RATED,
        "--format",
        "html",
        "-o",
        tmp_path / "r.html",
    )
    return tmp_path / "r.html"


def test_right_to_left_texts(report: Path, browser: Any) -> None:
    """The full stop of an Arabic sentence is at its left end."""
    page = browser.new_page()
    page.goto(report.as_uri())
    first, last = page.evaluate(
        """() => {
          const node = document.querySelector("blockquote").lastChild;
          const left = (index) => {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + 1);
            return range.getBoundingClientRect().left;
          };
          const text = node.textContent.trimEnd();
          return [left(text.search(/\\S/u)), left(text.length - 1)];
        }"""
    )
    assert last < first
    page.close()


def test_a_small_window_scrolls_in_one_direction(report: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 320, "height": 480})
    page.goto(report.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    page.close()
