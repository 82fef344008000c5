"""The served page in Chromium: nothing is lost, everything moves the leaderboard."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from scripts.serving import Served
from tests.plugins.serve.studies import nuggets_study, questions_study
from tests.plugins.serve.test_workbench import by_command_line

READY = "html[data-ready]"


class Reviewer:
    """A browser of its own, with the name of a reviewer."""

    def __init__(self, browser: Any, served: Served, name: str, **options: Any) -> None:
        size = {"width": 1400, "height": 900}
        self.context = browser.new_context(**{"viewport": size, "accept_downloads": True, **options})
        self.served, self.name = served, name
        self.problems: list[str] = []
        self.page = self.open()

    def open(self, view: str = "") -> Any:
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.goto(self.served.address + view)
        page.wait_for_selector(f"{READY}, #dialog[open] input")
        if page.locator("#dialog[open] input").count():
            page.fill("#dialog input", self.name)
            page.click("#dialog .primary")
        page.wait_for_selector(READY)
        return page

    def go(self, view: str) -> None:
        self.page.evaluate("view => { window.location.hash = view; }", view)
        self.page.wait_for_selector("#main:not([aria-busy])")
        self.page.wait_for_selector(".card.selected, #disputes, h1")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def saved(self, seq: int) -> None:
        self.page.wait_for_selector(f"#status:text-is('✓ saved {seq}')")

    def means(self) -> dict[str, float]:
        rows = self.page.locator("#standings tr[data-system]").all()
        return {str(r.get_attribute("data-system")): float(r.get_attribute("data-mean") or 0) for r in rows}

    def select(self, start: int, end: int) -> None:
        """Select a part of the passage, in UTF-16 units, also across marks."""
        self.page.evaluate(
            """([start, end]) => {
                const text = document.querySelector(".text p");
                const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
                const range = document.createRange();
                for (let at = 0, node; (node = walker.nextNode()); at += node.length) {
                    if (start >= at && start <= at + node.length) range.setStart(node, start - at);
                    if (end >= at && end <= at + node.length) { range.setEnd(node, end - at); break; }
                }
                getSelection().removeAllRanges();
                getSelection().addRange(range);
            }""",
            [start, end],
        )
        self.page.wait_for_selector("#selection button")


@pytest.fixture
def serve(browser: Any) -> Iterator[Callable[..., tuple[Served, Callable[..., Reviewer]]]]:
    made: list[Served] = []
    people: list[Reviewer] = []

    def serve(make: Callable[[], Path] = questions_study, *words: str) -> Any:
        made.append(Served(make(), *words))

        def reviewer(name: str = "ann", **options: Any) -> Reviewer:
            people.append(Reviewer(browser, made[-1], name, **options))
            return people[-1]

        return made[-1], reviewer

    yield serve
    for person in people:
        assert person.problems == []
        person.context.close()
    for served in made:
        assert served.stop() == 0


def events(served: Served) -> list[dict[str, Any]]:
    return [json.loads(line) for line in served.log]


Serve = Callable[..., tuple[Served, Callable[..., Reviewer]]]


def test_rate_undo_reload_undo(serve: Serve) -> None:
    _served, reviewer = serve()
    ann = reviewer()
    ann.page.wait_for_selector("#standings")
    start = ann.means()
    ann.go("#/q/0/p/0/e/0")
    ann.press("0", "l", "5")
    ann.saved(2)
    ann.page.wait_for_selector("#standings thead th:text('Start')")
    moved = ann.means()
    assert moved != start
    ann.press("z")
    ann.saved(3)
    ann.page.reload()
    ann.page.wait_for_selector(READY)
    ann.page.wait_for_selector(".card .rating.own")
    assert ann.page.locator(".rating.own").count() == 1, "the rating that was not undone"
    ann.press("z")
    ann.saved(4)
    ann.page.wait_for_selector("#standings:not(:has(th:text('Start')))")
    assert ann.means() == start
    ann.press("z")
    assert ann.page.locator(".rating.own").count() == 0


@pytest.mark.parametrize("make", [questions_study, nuggets_study])
def test_select_draft_impact_commit(
    serve: Serve, make: Callable[[], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """By keys alone; then the command line says the same."""
    served, reviewer = serve(make)
    ann = reviewer()
    ann.go("#/q/0/p/0/e/0")
    text = str(ann.page.inner_text(".text p"))
    emoji = text.find("😀")
    start = len(text[:emoji].encode("utf-16-le")) // 2 if emoji >= 0 else 2
    ann.select(start, start + 12)
    ann.press("+")
    ann.page.wait_for_selector("#draft textarea")
    ann.press("Control+A")
    ann.page.keyboard.type("A gas boiler burns fuel and is cheap to buy")
    if make is nuggets_study:
        ann.page.select_option("#draft label:has-text('Importance') select", "vital")
        ann.page.focus("#draft textarea")
    ann.press("Enter")
    ann.page.wait_for_selector("#impact h3")
    assert "Covered by" in ann.page.inner_text("#impact")
    ann.page.focus("#draft textarea")
    ann.press("Enter")
    ann.page.wait_for_selector(".verdict:has-text('1 × add')")
    ann.page.wait_for_selector("main :text('A gas boiler burns fuel and is cheap to buy')")
    means = ann.means()
    look, add = events(served)
    assert (look["op"], add["op"]) == ("preview", "add")
    (span,) = add["spans"]
    assert text[span["start"] : span["end"]] == span["text"], "places are code points"
    served.stop()
    assert by_command_line(capsys)[0] == pytest.approx(means, abs=1e-12)
    served.start()


def test_drafts_of_changes_and_discards(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.go("#/q/0")
    ann.page.click("button[aria-label='Edit entry 1']")
    ann.page.select_option("#draft select", "weight")
    ann.page.fill("#draft input[type=number]", "3")
    ann.page.click("#draft button:text('Check impact')")
    ann.page.wait_for_selector("#impact h3")
    ann.page.click("#draft button:text('Discard')")
    ann.page.wait_for_selector(".verdict:has-text('1 only looked at')")
    ann.page.click("button[aria-label='Remove entry 2']")
    ann.page.click("#draft button:text('Commit')")
    ann.page.wait_for_selector(".verdict:has-text('1 × remove')")
    ann.page.wait_for_selector("summary:text('1 bank entry')")
    ann.page.click("button[aria-label='Edit entry 1']")
    ann.page.fill("#draft textarea", "")
    ann.page.click("#draft button:text('Commit')")
    assert ann.page.inner_text("#draft [role=alert]") == "Enter a text."
    ann.page.fill("#draft input[type=text]", "x")
    assert [event["op"] for event in events(served)] == ["preview", "discard", "remove"]


def test_two_reviewers_and_a_third_who_resolves(serve: Serve) -> None:
    served, reviewer = serve()
    ann, ben, cid = reviewer("ann"), reviewer("ben"), reviewer("cid")
    for person, keys in ((ann, "5"), (ben, "1")):
        person.go("#/q/1/p/0/e/0")
        person.press(keys)
    ann.page.wait_for_selector("#disputed:text('1 disputed')")
    ann.page.wait_for_selector(".card.selected .grader[title='human:ben']")
    cid.go("#/work")
    cid.page.wait_for_selector("#disputes")
    cid.page.click("#disputes button[title='Resolve as 4']")
    ann.page.wait_for_selector(".verdict:has-text('cid resolved 1')")
    ann.page.wait_for_selector("#disputed:text('0 disputed')")
    assert {(event["by"], event["op"]) for event in events(served)} == {
        ("ann", "rate"), ("ben", "rate"), ("cid", "resolve"),
    }  # fmt: skip


def test_eight_tabs_of_a_browser_open_and_hear(serve: Serve) -> None:
    _served, reviewer = serve()
    ann = reviewer()
    tabs = [ann.page, *(ann.open("#/q/0/p/0/e/0") for _ in range(7))]
    tabs[-1].keyboard.press("5")
    for tab in tabs:
        tab.wait_for_selector("#status:text-is('✓ saved 1')")
    tabs[0].close()
    tabs[-1].keyboard.press("4")
    for tab in tabs[1:]:
        tab.wait_for_selector("#status:text-is('✓ saved 2')")


def test_clicks_while_the_server_is_down_arrive_once(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.go("#/q/0/p/0/e/0")
    ann.press("3")
    ann.saved(1)
    served.kill()
    ann.press("l", "5")
    ann.page.wait_for_selector("#status:has-text('1 not saved yet: The server does not answer')")
    ann.page.close()
    served.start()
    ann.page = ann.open("#/q/0/p/0/e/0")
    ann.saved(2)
    assert [event["rating"] for event in events(served)] == [3, 5]
    served.kill()
    ann.press("2")
    served.start()
    ann.saved(3)
    assert [event["rating"] for event in events(served)] == [3, 5, 2]


def test_kills_under_clicks_lose_nothing(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.go("#/q/0/p/0/e/0")
    clicks: list[int] = []
    for kill in range(6):
        for number in range(4):
            clicks.append((kill + number) % 6)
            ann.press(str(clicks[-1]))
            if number == kill % 4:
                served.kill()
        served.start()
        ann.page.wait_for_selector(f"#status:text-is('✓ saved {len(clicks)}')")
    assert [event["rating"] for event in events(served)] == clicks


def test_blind_pages_show_nothing_of_others(serve: Serve) -> None:
    served, reviewer = serve(questions_study, "--blind")
    heard: list[str] = []
    ann = reviewer()
    ann.page.on("response", lambda answer: heard.append(answer.url))
    ann.go("#/q/0/p/0/e/0")
    assert ann.page.locator("#standings").count() == 0
    before = ann.page.content()
    for secret in ("alpha", "beta", "gamma", "q1-p"):
        assert secret not in before
    ann.press("5")
    ann.saved(1)
    ann.page.wait_for_selector(".facts dd:text('lexical')")
    assert events(served)[0]["passage_id"].startswith("q1-p"), "the log has the id"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_does_not_scroll_sideways(serve: Serve, scheme: str) -> None:
    _served, reviewer = serve()
    ann = reviewer(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    for view in ("#/", "#/q/0", "#/q/0/p/0/e/0", "#/work"):
        ann.go(view)
        assert ann.page.evaluate("document.documentElement.scrollWidth") <= 390, view
    ann.go("#/q/0/p/0/e/0")
    assert ann.page.locator("#board").is_hidden()
    ann.page.click("#line")
    assert ann.page.locator("#board").is_visible()


def test_accessible(serve: Serve) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    _served, reviewer = serve()
    ann = reviewer()
    ann.go("#/q/0/p/0/e/0")
    ann.press("5")
    ann.saved(1)
    ann.page.click("#line", force=True) if ann.page.locator("#line").is_visible() else None
    ann.go("#/q/0")
    ann.page.click("button[aria-label='Edit entry 1']")
    ann.page.fill("#draft textarea", "What burns?")
    ann.page.click("#draft button:text('Check impact')")
    ann.page.wait_for_selector("#impact h3")
    found = axe.Axe().run(ann.page)
    assert found.violations_count == 0, found.generate_report()
    ann.go("#/work")
    time.sleep(0.2)
    found = axe.Axe().run(ann.page)
    assert found.violations_count == 0, found.generate_report()
