"""Chromium without network access, and review pages to open in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exam_pp.cli.main import main
from scripts.browser import chromium, find_chromium

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTED = "QuestionCompleteConciseUnanswerablePromptWithChoices"
READY = "html[data-ready]"
"""What pages of exam_pp have when their script is done."""


def run(*arguments: object) -> None:
    main(["-q", *map(str, arguments)])


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    pytest.importorskip("playwright", reason="playwright is not installed (pip install '.[browser]')")
    if find_chromium() is None:
        pytest.skip("Chromium is not installed")
    with chromium() as browser:
        yield browser


def go(page: Any, address: str) -> None:
    """Go to a view such as ``#/q/0``, and wait until the page shows it."""
    page.wait_for_selector(READY)
    page.evaluate(
        """address => new Promise(done => {
            const before = window.location.hash;
            // Listeners are called in order, so the page has begun to render when this one is called.
            window.addEventListener("hashchange", done, { once: true });
            window.location.hash = address;
            if (window.location.hash === before) done();
        })""",
        address,
    )
    page.wait_for_selector("#main:not([aria-busy])")


class Tab:
    """A page in its own browser context, with its requests and errors."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.requests: list[str] = []
        self.answered: list[str] = []
        self.failures: list[tuple[str, str]] = []
        self.problems: list[str] = []
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("response", lambda response: self.answered.append(response.url))
        page.on("requestfailed", lambda request: self.failures.append((request.url, request.failure)))
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._hear)

    def _hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def open(self, path: Path, ready: str = READY) -> Tab:
        self.page.goto(path.as_uri())
        self.page.wait_for_selector(ready)
        return self

    def go(self, address: str) -> Tab:
        go(self.page, address)
        return self

    def press(self, *keys: str) -> Tab:
        for key in keys:
            self.page.keyboard.press(key)
        return self

    def text(self, selector: str = "body") -> str:
        return str(self.page.inner_text(selector))

    def save(self, folder: Path, reviewer: str | None = None) -> Path:
        """Download the edits, with the name of a reviewer if the page asks for it, and return their file."""
        with self.page.expect_download() as download:
            self.page.click("#save")
            if reviewer is not None:
                self.page.fill("#dialog input", reviewer)
                self.page.click("#dialog .primary")
        assert download.value.suggested_filename == "edits.json"
        download.value.save_as(folder / "edits.json")
        return folder / "edits.json"


def means_on(page: Tab) -> dict[str, float]:
    """System to the mean that the page shows, with all digits."""
    rows = page.page.locator(".leaderboard tr[data-system]").all()
    return {
        str(row.get_attribute("data-system")): float(row.get_attribute("data-mean") or "nan") for row in rows
    }


@pytest.fixture
def tab(browser: Any) -> Iterator[Callable[..., Tab]]:
    """Opens a page from disk; fails at the end if it had errors or requested anything but files."""
    contexts: list[Any] = []
    tabs: list[Tab] = []

    def make(path: Path, ready: str = READY, **options: Any) -> Tab:
        context = browser.new_context(
            viewport={"width": 1360, "height": 900}, accept_downloads=True, **options
        )
        contexts.append(context)
        tabs.append(Tab(context.new_page()))
        return tabs[-1].open(path, ready)

    yield make
    for made in tabs:
        assert made.problems == []
        assert [url for url in made.requests if not url.startswith(("file:", "blob:"))] == []
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def demo(demo_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the demo collection, graded by the lexical baseline: passages, bank, review page."""
    folder = tmp_path_factory.mktemp("demo")
    bank = demo_data / "questions.jsonl"
    run("import", "--runs", demo_data / "runs", "--texts", demo_data / "passages.tsv", "--top", 5,
        "--queries", demo_data / "queries.jsonl", "--qrels", demo_data / "qrels.txt",
        "-o", folder / "passages.jsonl.gz")  # fmt: skip
    run("grade", folder / "passages.jsonl.gz", "-o", folder / "graded.jsonl.gz", "--bank", bank,
        "--prompt", RATED, "--prompt", EXTRACTED, "--model", "lexical")  # fmt: skip
    (folder / "bank.jsonl").write_bytes(bank.read_bytes())
    run("review", folder / "graded.jsonl.gz", "--bank", folder / "bank.jsonl", "--prompt", RATED,
        "-o", folder / "review.html")  # fmt: skip
    return folder
