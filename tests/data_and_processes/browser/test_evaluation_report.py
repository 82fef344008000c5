"""The page of `evaluate report` in Chromium: its first screen, its folds, phones, dark mode and print."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.rendering.document import Bar, Bars, Block, Check, Checks, Fold, Report, Statement, Table
from exam_pp.rendering.render import render
from tests.data_and_processes.conftest import RATED, Tab, run

OpenTab = Callable[..., Tab]
SCREENS = 3
"""Greatest height of the page before anything is unfolded, in screens of 900 pixels."""


@pytest.fixture(scope="session")
def report(demo: Path, demo_data: Path) -> Path:
    inputs = (demo / "graded.jsonl.gz", "--bank", demo / "bank.jsonl", "--runs", demo_data / "runs")
    options = ("--prompt-class", RATED, "--cutoff", 5, "-m", "nDCG@5")
    run("evaluate", "report", *inputs, *options, "-o", demo / "report")
    return demo / "report" / "index.html"


@pytest.fixture(scope="session")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of 150 systems with long names, of which the first can be told from the others."""
    rows = [
        Bar(
            f"LONG_NAME_OF_A_SYSTEM-{n:03}", f"{99 - n / 2:.0f} %", "30–90 %", f"{n + 1}–150",
            1 - n / 200, 0.3, 0.9, leads=n < 9, line=n == 8,
        )
        for n in range(150)
    ]  # fmt: skip
    ranking = Bars(
        "Leaderboard", ("system", "score", "95 % interval", "place"), rows, "A share.", ["A note."]
    )
    lines = [Check("good", f"{n} queries", " show which system is better. " * 3) for n in range(7)]
    fold = Fold("More", "all numbers", [Table(["a", "b"], [[n, "text"] for n in range(99)])])
    blocks: list[Block] = [
        Statement("Nine systems share the lead: all. " * 4, "Nine systems"),
        ranking,
        Checks("Sure?", lines),
        fold,
    ]
    path = tmp_path_factory.mktemp("many") / "index.html"
    path.write_text(render(Report("Evaluation of many systems", blocks), "html"))
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 390])
@pytest.mark.parametrize("name", ["report", "many"])
def test_the_page_is_short_and_fits_the_window(
    request: pytest.FixtureRequest, tab: OpenTab, name: str, width: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = tab(request.getfixturevalue(name), color_scheme=scheme).page
    page.set_viewport_size({"width": width, "height": 900})

    assert page.evaluate("document.documentElement.scrollHeight") <= SCREENS * 900
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("table:visible").count() == 1
    clipped = """() => [...document.querySelectorAll(".overview :is(th, td, li, p), .statement")]
        .filter((item) => item.checkVisibility() && item.scrollWidth > item.clientWidth + 1)
        .map((item) => item.textContent)"""
    assert page.evaluate(clipped) == []
    assert [item["id"] for item in axe.run(page).response["violations"]] == []


def test_folds_open_without_the_script_and_by_an_address(report: Path, browser: Any) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 844})
    page = context.new_page()
    page.goto(report.as_uri())
    folds = page.locator("details.fold")
    assert folds.count() == 5
    for number in range(5):
        assert not folds.nth(number).locator("table, svg").first.is_visible()
        folds.nth(number).locator("summary").first.click()
        assert folds.nth(number).locator("table, svg").first.is_visible()
    page.goto("about:blank")
    page.goto(f"{report.as_uri()}#fold-2")
    assert page.locator("#fold-2").is_visible()
    assert not page.locator("#fold-1").is_visible()
    context.close()
