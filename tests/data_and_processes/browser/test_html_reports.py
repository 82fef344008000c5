"""HTML reports in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.rendering.document import Block, Heading, Paragraph, Report, Table
from exam_pp.rendering.render import render
from scripts.command_tree import is_here
from tests.conftest import passage, rubric
from tests.data_and_processes.conftest import RATED, Tab, run

ARABIC = "تنتج المد والجزر عن جاذبية القمر."


@pytest.fixture
def report(write_jsonl: Callable[[str, list[Any]], Path], tmp_path: Path) -> Path:
    judgment = {"paragraphId": "p", "query": "q", "relevance": 2, "titleQuery": "q"}
    graded_passage = passage(text=ARABIC, exam_grades=[rubric({"q/a": 1})])
    graded_passage["paragraph_data"]["judgments"] = [judgment]
    graded = write_jsonl("graded.jsonl", [["q", [graded_passage]]])
    run(
        "verify",
        "disagreements",
        graded,
        "--prompt",
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


# All reports

CLINIC = ["clinic"] if is_here("bank clinic") else []
PAGES = ("leaderboard", *CLINIC, "grid", "disagreements", "agreement", "diff", "review")
OpenTab = Callable[..., Tab]


@pytest.fixture(scope="session")
def pages(demo: Path) -> Path:
    """The folder of the demo, with the HTML pages of its reports; two models graded the passages."""
    graded, bank, grades = demo / "two.jsonl.gz", demo / "bank.jsonl", ("--prompt", RATED)
    run(
        "filter",
        demo / "graded.jsonl.gz",
        "-o",
        demo / "renamed.jsonl.gz",
        "--rename",
        "grader=lexical=other",
    )
    run("merge", demo / "graded.jsonl.gz", demo / "renamed.jsonl.gz", "-o", graded)
    first = (graded, *grades, "--grader", "lexical")
    made = {
        "leaderboard": ("evaluate", "cover", *first, "--bank", bank, "--cutoff", 5),
        "clinic": ("bank", "clinic", *first, "--bank", bank),
        "grid": ("verify", "grid", *first, "--bank", bank),
        "disagreements": ("verify", "disagreements", *first, "--bank", bank),
        "agreement": ("analyze", "agreement", *first),
        "diff": ("diff", graded, graded, *grades, "--grader", "lexical", "--grader", "other"),
    }
    for name, command in made.items():
        if name == "clinic" and not CLINIC:
            continue
        run(*command, "--format", "html", "-o", demo / f"{name}.html")
    return demo


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_accessible_and_without_horizontal_scrolling(
    pages: Path, tab: OpenTab, name: str, width: int, scheme: str
) -> None:
    """axe-core reports no violation of WCAG 2.1 AA or good practice, and only tables scroll sideways."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = tab(pages / f"{name}.html", color_scheme=scheme).page
    page.set_viewport_size({"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = axe.run(page).response["violations"]
    assert [(item["id"], item["nodes"][0]["html"][:160]) for item in violations] == []


@pytest.mark.parametrize("name", PAGES[:-1])
def test_everything_is_readable_without_the_script(pages: Path, browser: Any, name: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 360, "height": 800})
    page = context.new_page()
    page.goto((pages / f"{name}.html").as_uri())
    assert page.locator("h1").is_visible()
    assert page.locator("table").count() == page.locator("table:visible").count() > 0
    assert page.locator("button, [role=button]").count() == 0
    context.close()


def column(page: Any, number: int) -> list[str]:
    """The visible texts of a column of the first table."""
    cells = page.locator(f"#t1 tbody tr:visible > :nth-child({number})")
    return [text.strip() for text in cells.all_inner_texts()]


NAMES = ("QuestionSelfRatedUnanswerablePromptWithChoices", "QuestionSelfRatedExplanationPromptWithExam")


@pytest.fixture
def table(tmp_path: Path, tab: OpenTab) -> Any:
    """A page with a table of 20 rows; the scores have empty cells, and the names are long."""
    rows = [
        [f"system {n}", None if n == 7 else (n * 7 % 20) / 10, f"{n * 3 % 20} ± 1", NAMES[n % 2]]
        for n in range(20)
    ]
    blocks: list[Block] = [Paragraph("First note."), Paragraph("Second note."),
              Heading("Scores"), Table(("system", "score", "sum", "prompt"), rows),
              Heading("More"), Table(("n",), [[1]])]  # fmt: skip
    path = tmp_path / "table.html"
    path.write_text(render(Report(f"Scores of {NAMES[0]}", blocks), "html"), encoding="utf-8")
    return tab(path).page


def test_sorting_by_mouse_and_keyboard(table: Any) -> None:
    header = table.locator("#t1 th:has-text('score')")
    assert header.get_attribute("aria-sort") == "none"
    header.locator("button").click()
    assert header.get_attribute("aria-sort") == "descending"
    assert column(table, 2)[:2] == ["1.900", "1.800"]
    assert column(table, 2)[-1] == ""
    header.locator("button").press("Enter")
    assert header.get_attribute("aria-sort") == "ascending"
    assert column(table, 2)[:2] == ["0.000", "0.100"]
    assert column(table, 2)[-1] == ""
    header.locator("button").press("Space")
    assert header.get_attribute("aria-sort") == "none"
    assert column(table, 1) == [f"system {n}" for n in range(20)]
    table.click("#t1 th:has-text('sum') button")  # texts with numbers are sorted by number
    assert column(table, 3)[:2] == ["19 ± 1", "18 ± 1"]


def test_filter_of_long_tables(table: Any) -> None:
    assert table.locator(".filter").count() == 1
    table.fill(".filter input", "SYSTEM explanation 15")
    assert column(table, 1) == ["system 5", "system 15"]  # by the name
    assert table.inner_text(".filter [role=status]") == "2 of 20 rows"
    table.fill(".filter input", "")
    assert len(column(table, 1)) == 20


def test_header_stays_in_view(table: Any) -> None:
    table.set_viewport_size({"width": 1280, "height": 320})
    table.locator("#t1 .scroll").evaluate("box => box.scrollTo(0, 200)")
    top = table.locator("#t1 .scroll").bounding_box()["y"]
    assert abs(table.locator("#t1 thead th").first.bounding_box()["y"] - top) < 3


def test_long_names_are_short_distinct_and_complete_in_copies(table: Any) -> None:
    names = table.locator("#t1 tr:nth-child(-n+2) .name")
    widths = [names.nth(n).bounding_box()["width"] for n in (0, 1)]
    assert max(widths) < 280
    starts = {names.nth(n).evaluate("node => node.firstChild.data") for n in (0, 1)}
    assert starts == {"QuestionSelfRatedUnanswerable", "QuestionSelfRatedExplanation"}
    assert {names.nth(n).get_attribute("title") for n in (0, 1)} == set(NAMES)
    copied = table.evaluate(
        """() => {
          const selection = window.getSelection();
          selection.selectAllChildren(document.querySelector("#t1 tbody tr"));
          return selection.toString();
        }"""
    )
    assert NAMES[0] in copied
    table.evaluate("window.getSelection().removeAllRanges()")
    table.context.grant_permissions(["clipboard-read", "clipboard-write"])
    names.first.click()
    table.wait_for_selector(".toast:has-text('Copied')")
    assert table.evaluate("navigator.clipboard.readText()") == NAMES[0]


def test_navigation_follows_the_sections(table: Any) -> None:
    assert table.locator(".contents a").all_inner_texts() == ["Scores", "More"]
    assert table.locator(".notes li").all_inner_texts() == ["First note.", "Second note."]
    table.set_viewport_size({"width": 800, "height": 300})
    table.click(".contents a:has-text('More')")
    assert abs(table.locator(".contents").bounding_box()["y"]) < 1
    assert table.locator("#s2").bounding_box()["y"] >= table.locator(".contents").bounding_box()["height"] - 1


# The grid


def test_a_cell_of_the_grid_shows_what_is_behind_it(pages: Path, tab: OpenTab) -> None:
    page = tab(pages / "grid.html").page
    heat, panel = page.locator(".heat").first, page.locator(".heat .selected").first
    cell = heat.locator("tbody tr").nth(1).locator("[data-details]").nth(2)
    cell.click()
    entry = heat.locator("thead th[title]").nth(1).get_attribute("title")
    passage = heat.locator("tbody tr").nth(1).locator("th").inner_text()
    assert entry
    assert entry in panel.inner_text()
    assert panel.locator("h3").inner_text() == passage
    assert panel.locator(".rating").inner_text() == cell.inner_text()
    assert len(panel.locator(".passage").inner_text()) > 100
    page.keyboard.press("ArrowDown")
    assert panel.locator("h3").inner_text() != passage
    assert heat.locator("[aria-selected=true]").count() == 1
    # A sorted table keeps the cells of a row together.
    heat.locator("th:has-text('judgment') button").click()
    heat.locator("tbody th[data-details]").last.click()
    assert panel.locator("h3").inner_text() == heat.locator("tbody th").last.inner_text()


def test_printing_shows_details(pages: Path, tab: OpenTab) -> None:
    page = tab(pages / "grid.html").page
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert not page.locator(".contents").is_visible()
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
