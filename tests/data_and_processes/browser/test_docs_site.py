"""The documentation site, opened from disk."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data_and_processes.conftest import Tab

ROOT = Path(__file__).resolve().parents[3]
PAGES = ("index", "start/your-data", "reference/cli", "project/performance")
"""The home page, and pages with code, the widest tables and long option names."""


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "scripts.docs_site", folder],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return folder


@pytest.fixture
def open_page(tab: Callable[..., Tab], site: Path) -> Callable[..., Tab]:
    """Opens a page of the site; the test fails if it has errors or requests anything but files."""
    return lambda name, **options: tab(site / f"{name}.html", ready="html.js", **options)


def test_the_search_works_from_disk(open_page: Callable[..., Tab]) -> None:
    page = open_page("start/quickstart").press("/").page
    field = page.get_by_role("combobox", name="Search")
    field.wait_for()
    page.keyboard.type("Kendall")
    results = page.get_by_role("option").filter(has_text="Kendall")
    results.nth(2).wait_for()
    assert field.input_value() == "Kendall"
    results.first.click()
    page.wait_for_url("**?h=*Kendall*")
    assert "Kendall" in page.inner_text("article")


FIRST_HITS = {
    "how do I use my own prompt": "reference/prompts.html#a-prompt-of-your-own",
    "install": "start/quickstart.html#install",
    "p-value": "concepts/uncertainty.html#which-systems-differ-p-values-and-ranks",
    "confidence interval": "how-to/evaluation.html#confidence-intervals-and-significance",
    "import csv": "how-to/import.html#tables-csv-excel-json",
    "correct a grade": "how-to/verification.html",
    "openai": "how-to/models.html#endpoints-openai-vllm-and-others",
    "nuggets": "how-to/nuggets.html",
    "which system is better": "how-to/evaluation.html",
    "gpu memory": "start/gpu-server.html#models-larger-than-one-gpu",
    "Add a version": "coming-from/applications.html#add-a-version",
    "nested JSON": "coming-from/applications.html#nested-json-and-other-tables",
    "which judge": "how-to/models.html#which-judge",
    "several people": "how-to/trust.html#labels-of-people-drawing-pairs",
}
"""Questions of new users to the part of the site that answers them."""


def test_the_first_hit_answers_the_question(open_page: Callable[..., Tab]) -> None:
    page = open_page("index").press("/").page
    field = page.get_by_role("combobox", name="Search")
    field.wait_for()
    found = {}
    for question in FIRST_HITS:
        field.fill("xylophone")
        page.get_by_role("status").get_by_text("No results").wait_for()
        field.fill(question)
        href = page.get_by_role("option").first.get_attribute("href")
        found[question] = re.sub(r"^.*/(?=[\w-]+/[\w-]+\.html)|\?h=[^#]*", "", href)
    assert found == FIRST_HITS


@pytest.mark.parametrize("width", [360, 1400])
def test_only_tables_code_and_formulas_scroll_sideways(
    open_page: Callable[..., Tab], site: Path, width: int
) -> None:
    page = open_page("index").page
    page.set_viewport_size({"width": width, "height": 740})
    wide = {}
    for path in sorted(set(site.rglob("*.html")) - {site / "404.html"}):  # servers show that one
        page.goto(path.as_uri())
        page.wait_for_selector("html.js")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path.name
        wide[path.name] = page.evaluate(
            """() => [...document.querySelectorAll("article *")]
              .filter((node) => node.getBoundingClientRect().right > innerWidth + 1)
              .filter((node) => !node.closest(".md-typeset__table, .md-typeset__scrollwrap, pre, .formula"))
              .map((node) => node.outerHTML.slice(0, 100))"""
        )
    assert {name: nodes for name, nodes in wide.items() if nodes} == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_pages_are_accessible(open_page: Callable[..., Tab], name: str, scheme: str) -> None:
    """axe-core reports no violation of WCAG 2.1 AA or good practice; two rules on the theme are off."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = open_page(name, color_scheme=scheme).page
    theme = {
        "landmark-unique": {"enabled": False},  # two navigations have the same label
        "scrollable-region-focusable": {"enabled": False},  # browsers make them focusable
    }
    options = {
        "rules": theme,
        "preload": False,
    }  # preloading reads style sheets, which browsers refuse on disk
    violations = axe.run(page, options=options).response["violations"]
    assert [(item["id"], item["nodes"][0]["html"][:160]) for item in violations] == []


@pytest.mark.parametrize("name", ["index", "how-to/verification"])
def test_pictures_are_dark_in_the_dark(open_page: Callable[..., Tab], name: str) -> None:
    image = pytest.importorskip("PIL.Image")
    pictures = open_page(name, color_scheme="dark").page.locator("article img").all()
    shots = [image.open(io.BytesIO(picture.screenshot())).convert("L") for picture in pictures]
    assert shots
    assert [shot for shot in shots if shot.resize((1, 1)).getpixel((0, 0)) > 100] == []
