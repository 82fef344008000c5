"""Benchmark of the review page: its size, and the times to open it and to move the selection.

Usage: python -m scripts.bench.review GRADED [BANK]      (needs playwright and Chromium)

Times are the median of five openings from disk in a new browser profile: until the overview is shown, until
the grid of the query with most passages is shown, and until a key has moved the selection.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from exam_pp.cli.main import main as exam_pp
from scripts.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OPENINGS = 5
KEYS = 20
_LARGEST = """() => {
  const rows = [...document.querySelectorAll("#queries tbody tr")];
  const sizes = rows.map((row) => Number(row.cells[2].textContent));
  return sizes.indexOf(Math.max(...sizes));
}"""


def timed(action: Callable[[], object]) -> float:
    """Seconds that an action takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def open_once(browser: Browser, path: Path) -> tuple[float, float, float]:
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    page = context.new_page()
    overview = timed(lambda: (page.goto(path.as_uri()), page.wait_for_selector("html[data-ready]")))
    query = page.evaluate(_LARGEST)
    grid = timed(lambda: open_query(page, query))
    page.focus(".grid")
    key = timed(lambda: press(page, "j", KEYS)) / KEYS
    context.close()
    return overview, grid, key


def press(page: Page, key: str, times: int) -> None:
    for _ in range(times):
        page.keyboard.press(key)


def open_query(page: Page, query: int) -> None:
    page.evaluate("query => { window.location.hash = `#/q/${query}` }", query)
    page.wait_for_selector(".grid td.cell")


def main() -> None:
    graded, *bank = sys.argv[1:]
    with TemporaryDirectory() as folder, chromium() as browser:
        path = Path(folder) / "review.html"
        banks = ["--bank", bank[0]] if bank else []
        making = timed(lambda: exam_pp(["-q", "review", graded, *banks, "-o", str(path)]))
        overview, grid, key = (
            median(column)
            for column in zip(*(open_once(browser, path) for _ in range(OPENINGS)), strict=True)
        )
        print(f"size of the page       {path.stat().st_size / 1e6:6.1f} MB")
        print(f"making it              {making:6.1f} s")
        print(f"overview is shown      {overview:6.2f} s")
        print(f"largest query is shown {grid:6.2f} s")
        print(f"key press              {1000 * key:6.0f} ms")


if __name__ == "__main__":
    main()
