"""The served page in Chromium: nothing is lost, everything moves the leaderboard."""

from __future__ import annotations

import json
import resource
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from exam_pp.prompts import PROMPTS
from scripts.serving import Served
from tests.data_and_processes.conftest import READY, go
from tests.llm.endpoint_server import Answer, prompt_of, rating
from tests.llm.endpoint_server import serve as endpoint
from tests.plugins.serve.studies import COFFEE, TEXTS, nuggets_study, questions_study
from tests.plugins.serve.test_workbench import by_command_line


def units(text: str) -> int:
    """The length of a text in JavaScript."""
    return len(text.encode("utf-16-le")) // 2


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
        go(self.page, view)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def saved(self, seq: int) -> None:
        self.page.wait_for_selector(f"#status:text-is('✓ saved {seq}')")

    def means(self) -> dict[str, float]:
        rows = self.page.locator("#standings tr[data-system]").all()
        return {str(r.get_attribute("data-system")): float(r.get_attribute("data-mean") or 0) for r in rows}

    def changes(self) -> dict[str, str]:
        """System to its change of the score, as the page shows it."""
        rows = self.page.locator("#standings tr[data-system]").all()
        return {str(r.get_attribute("data-system")): r.locator("td").nth(2).inner_text() for r in rows}

    def read(self, query: int, text: str) -> None:
        """Open the passage of a query that has a text."""
        self.go(f"#/q/{query}")
        for link in self.page.locator(".grid tbody a").all():
            self.go(str(link.get_attribute("href")))
            self.page.wait_for_selector(".columns:not(.wide) .text")
            if text in self.page.inner_text(".text p"):
                return
            self.go(f"#/q/{query}")
            self.page.wait_for_selector(".grid")

    def select_text(self, text: str) -> None:
        """Select a text of the passage."""
        before = str(self.page.evaluate("document.querySelector('.text p').textContent")).partition(text)[0]
        start = units(before)
        self.select(start, start + units(text))

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
    ann.page.wait_for_selector("#standings thead th:text('Change')")
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
    ann.page.wait_for_selector("#standings:not(:has(th:text('Change')))")
    assert ann.means() == start
    ann.press("z")
    assert ann.page.locator(".rating.own").count() == 0


def test_a_browser_that_keeps_nothing_works(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.page.add_init_script(
        "Object.defineProperty(window, 'localStorage',"
        " { get() { throw new DOMException('no', 'SecurityError'); } });"
    )
    ann.page.reload()
    ann.page.wait_for_selector("#dialog[open] input")
    ann.page.fill("#dialog input", "ann")
    ann.page.click("#dialog .primary")
    ann.page.wait_for_selector(READY)
    ann.go("#/q/0/p/0/e/0")
    ann.press("5")
    ann.page.wait_for_selector("#status:has-text('This browser keeps nothing')")
    ann.page.reload()
    ann.page.wait_for_selector("#dialog[open] input")
    assert [event["rating"] for event in events(served)] == [5]


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
    prefilled = ann.page.input_value("#draft textarea")
    assert bool(prefilled) == (make is nuggets_study), "a nugget begins as the text, a question empty"
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


def test_selected_text_is_kept_and_marked(serve: Serve) -> None:
    """With emoji, right to left, from within a mark to behind it, and after it."""
    served, reviewer = serve()
    ann, ben = reviewer(), reviewer("ben")
    chosen = ["القهوة 😀 ليست", "😀 ليست شايًا", "Coffee"]
    ann.read(2, "Coffee is not tea")
    ben.read(2, "Coffee is not tea")
    ann.select_text(chosen[0])
    ann.press("+")
    ann.page.wait_for_selector("mark.draft")
    assert ann.page.inner_text("mark.draft") == chosen[0]
    for text in chosen[1:]:
        ann.select_text(text)
        ann.page.click("#selection button:text('Add the selection to the draft')")
    assert ann.page.locator("#draft .chip").count() == 3
    marks = ann.page.locator("mark.draft").all_inner_texts()
    assert marks == ["Coffee", "القهوة ", "😀 ليست", " شايًا"], "overlapping selections share a part"
    ann.page.fill("#draft textarea", "Is coffee tea?")
    ann.page.click("#draft button:text('Commit')")
    for person in (ann, ben):
        person.page.wait_for_selector("mark.kept")
        assert person.page.locator("mark.kept").all_inner_texts() == marks
        assert person.page.locator("mark.draft").count() == 0
    assert ben.page.get_attribute("mark.kept >> nth=0", "title") == "ann: Is coffee tea?"
    (add,) = events(served)
    assert [span["text"] for span in add["spans"]] == chosen
    assert [COFFEE[span["start"] : span["end"]] for span in add["spans"]] == chosen
    ann.page.click(".card-head:has-text('Is coffee tea?')")
    ann.page.keyboard.press("u")
    ann.page.click("button[aria-label='Edit entry 3']")
    assert ann.page.locator("#draft .chip").count() == 3, "a new text keeps what the entry is made of"
    ann.page.click("#draft button:text('Discard')")
    ann.page.click("button[aria-label='Remove entry 3']")
    ann.page.click("#draft button:text('Commit')")
    ben.page.wait_for_selector(".text:not(:has(mark))")


def test_changes_since_a_change_and_the_last_visit(serve: Serve) -> None:
    _served, reviewer = serve()
    ann = reviewer()
    ann.read(0, "Heat pumps are louder")
    ann.press("5", "l", "5")
    ann.saved(2)
    ann.page.wait_for_selector("#standings th:text('Change')")
    after = ann.means()
    assert set(ann.changes().values()) > {"+16.7"}, "both entries count since the start"
    ann.page.select_option("label:has-text('Change since') select", "1")
    ann.page.wait_for_selector("label:has-text('Change since') option[value='1']:checked", state="attached")
    ann.page.wait_for_selector("#standings:not(:has-text('+33.3'))")
    ann.page.reload()
    ann.page.wait_for_selector(READY)
    ann.press("h", "0")
    ann.saved(3)
    ann.page.select_option("label:has-text('Change since') select", label="your last visit")
    ann.page.wait_for_selector("#standings:has-text('−')")
    for system, mean in ann.means().items():
        change = 100 * (mean - after[system])
        assert float(ann.changes()[system].replace("−", "-") or 0) == pytest.approx(change, abs=0.051)
    ann.page.select_option("label:has-text('Change since') select", "other")
    ann.page.fill("#dialog input", "0")
    ann.press("Enter")
    ann.page.wait_for_selector("#standings:not(:has-text('−'))")


def test_one_entry_alone(serve: Serve) -> None:
    _served, reviewer = serve()
    ann = reviewer()
    ann.page.wait_for_selector("#standings")
    whole = ann.means()
    ann.read(0, "A gas boiler")
    ann.press("o")
    ann.page.wait_for_selector("#board h2:text('Leaderboard of one entry')")
    ann.page.wait_for_selector("#board :text('2 of 3 systems score with it alone')")
    assert ann.means() == {"alpha": 1, "gamma": 1, "beta": 0}
    ann.press("5")
    ann.page.wait_for_selector("#board :text('3 of 3 systems score with it alone')")
    ann.press("z", "o")
    ann.page.wait_for_selector("#board h2:text-is('Leaderboard')")
    ann.saved(2)
    ann.page.wait_for_selector("#standings:not(:has(th:text('Change')))")
    assert ann.means() == whole
    ann.press("u")
    ann.page.click("button[aria-label='Leaderboard with entry 2 alone']")
    ann.page.wait_for_selector("#board :text('What does a boiler burn?')")
    ann.go("#/q/1")
    ann.page.wait_for_selector("#board h2:text-is('Leaderboard')")


def test_keys_alone_make_an_entry(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    served, reviewer = serve(nuggets_study)
    ann = reviewer()
    ann.read(0, TEXTS["q1"][0])
    ann.press("+")
    ann.page.keyboard.type("A gas boiler is cheap")
    ann.press("Enter")
    assert ann.page.inner_text("#draft [role=alert]") == "Choose an importance: scores need it."
    ann.press("Tab", "v", "Tab")
    ann.page.keyboard.type("stated twice")
    ann.press("Enter")
    ann.page.wait_for_selector("#impact h3")
    ann.press("Enter")
    ann.page.wait_for_selector(".verdict:has-text('1 × add')")
    there = ann.page.url
    ann.press("j" if "/p/0/" in there else "k")
    assert ann.page.url != there, "the keys of the page work again"
    add = events(served)[-1]
    assert (add["importance"], add["reason"], add.get("weight")) == ("vital", "stated twice", None)
    ann.press("+")
    ann.page.keyboard.type("Tea")
    ann.press("Escape", "Escape", "z")
    ann.page.wait_for_selector(".verdict:not(:has-text('1 × add'))")
    means = ann.means()
    served.stop()
    assert by_command_line(capsys)[0] == pytest.approx(means, abs=1e-12)
    served.start()


def test_an_endpoint_has_a_price_and_can_be_cancelled(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    hold = threading.Event()

    def slowly(body: dict[str, Any], count: int) -> Answer:
        if "Is it loud?" in prompt_of(body):
            hold.wait(20)
        return rating(body, count)

    with endpoint(slowly) as judge:
        words = ("--model", "m", "--model-pipeline", "openai", "--base-url", judge.url)
        served, reviewer = serve(lambda: questions_study(*words), "--base-url", judge.url)
        ann = reviewer()
        ann.read(0, "A gas boiler")
        ann.press("+")
        prompt = PROMPTS.find("self-rated")
        assert prompt is not None
        pieces = prompt.render(dict.fromkeys(prompt.slots, ""))
        tokens = (sum(map(units, TEXTS["q1"])) + 3 * sum(len(piece.text) for piece in pieces) + 2) // 4
        ann.page.wait_for_selector(f"#draft :text('3 pairs · m at its endpoint · about {tokens} tokens')")
        ann.page.keyboard.type("Is it cheap?")
        ann.press("Enter")
        ann.page.wait_for_selector("#impact h3")
        ann.page.wait_for_selector("#draft :text-matches('tokens · about [0-9.]+ s')")
        asked = len(judge.bodies)
        ann.page.fill("#draft textarea", "Is it loud?")
        ann.page.focus("#draft textarea")
        ann.press("Enter")
        with ann.page.expect_response("**/cancel"):
            ann.page.click("#draft button:text('Cancel')")
        hold.set()
        ann.page.wait_for_selector("#draft [role=alert]:has-text('Cancelled')")
        ann.page.click("#draft button:text('Check impact')")
        ann.page.wait_for_selector("#impact h3")
        assert len(judge.bodies) == asked + 3, "the replies that came were kept"

        def of_201(route: Any) -> None:
            answer = route.fetch()
            query = answer.json()
            query["query"]["passages"] = 201
            route.fulfill(response=answer, json=query)

        ann.page.route("**/query/0?*", of_201)
        ann.page.reload()
        ann.page.wait_for_selector(READY)
        ann.press("+")
        ann.page.keyboard.type("Is it quick?")
        ann.press("Enter")
        ann.page.wait_for_selector("#dialog:has-text('201 pairs · m at its endpoint')")
        ann.page.click("#dialog button:text('Cancel')")
        assert len(judge.bodies) == asked + 3, "nothing is sent before the answer"
        assert [event["op"] for event in events(served)] == ["preview", "preview"]
        ann.page.unroute_all(behavior="ignoreErrors")


def test_a_judge_that_dies_says_so(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with endpoint(rating) as judge:
        words = ("--model", "m", "--model-pipeline", "openai", "--base-url", judge.url)
        served, reviewer = serve(lambda: questions_study(*words), "--base-url", judge.url)
        ann = reviewer()
        ann.read(0, "A gas boiler")
    ann.press("+")
    ann.page.keyboard.type("Is it loud?")
    ann.press("Enter")
    ann.page.wait_for_selector("#draft [role=alert]:has-text('connect')", timeout=60_000)
    ann.page.click("#draft button:text('Commit')")
    ann.page.wait_for_selector(".notice:has-text('1 new entry is not graded yet and does not count.')")
    ann.page.wait_for_selector("#board .notice:has-text('connect')", timeout=60_000)
    ann.page.wait_for_selector(".card:has-text('Is it loud?')")
    ann.press("5", "l", "l", "4")
    ann.saved(3)
    assert [(event["op"], event.get("rating")) for event in events(served)] == [
        ("add", None), ("rate", 5), ("rate", 4),
    ]  # fmt: skip


def test_a_page_opens_before_the_first_leaderboard(serve: Serve) -> None:
    _, reviewer = serve()
    ann = reviewer()
    first: list[str] = []

    def early(route: Any) -> None:
        """The server does not answer at first, and then has no leaderboard yet."""
        first.append(route.request.url)
        if len(first) == 1:
            route.abort()
        elif len(first) == 2:
            answer = route.fetch()
            route.fulfill(response=answer, json={**answer.json(), "board": None})
        else:
            route.continue_()

    ann.page.route("**/state?*", early)
    ann.page.reload()
    ann.page.wait_for_selector(READY)
    ann.page.wait_for_selector("#standings")
    assert len(first) > 2
    assert not ann.problems


def test_a_change_that_does_not_fit_takes_no_other_with_it(serve: Serve) -> None:
    """Work of a page that was closed while the server was down, with a text that the bank has already."""
    served, reviewer = serve()
    ann = reviewer()
    ann.read(0, "A gas boiler")
    served.kill()
    ann.press("5", "j", "4", "+")
    ann.page.keyboard.type("What does a boiler burn?")
    ann.page.click("#draft button:text('Commit')")
    ann.page.wait_for_selector("#status:has-text('3 not saved yet')")
    ann.page.close()
    served.start()
    ann.page = ann.open()
    ann.page.wait_for_selector("#draft [role=alert]:has-text('already has the text')")
    assert ann.page.input_value("#draft textarea") == "What does a boiler burn?"
    assert [event["rating"] for event in events(served)] == [5, 4]


def test_an_impact_is_of_the_text_that_it_was_asked_for(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    hold = threading.Event()

    def slowly(body: dict[str, Any], count: int) -> Answer:
        if "Is it loud?" in prompt_of(body):
            hold.wait(30)
        return rating(body, count)

    with endpoint(slowly) as judge:
        words = ("--model", "m", "--model-pipeline", "openai", "--base-url", judge.url)
        served, reviewer = serve(lambda: questions_study(*words), "--base-url", judge.url)
        ann = reviewer()
        ann.read(0, "A gas boiler")
        ann.press("+")
        ann.page.keyboard.type("Is it loud?")
        ann.press("Enter")
        ann.page.wait_for_selector("#progress")
        ann.page.keyboard.type(" Or cheap?")
        ann.page.wait_for_selector("#draft button:text('Check impact')")
        hold.set()
        assert ann.page.input_value("#draft textarea") == "Is it loud? Or cheap?"
        ann.press("Enter")
        ann.page.wait_for_selector("#impact h3")
        ann.press("Enter")
        ann.page.wait_for_selector(".verdict:has-text('1 made (1 × add)')")
    assert [e.get("text") or e["change"]["text"] for e in events(served)] == ["Is it loud? Or cheap?"] * 2


def test_a_comment_is_one_change(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.read(0, "A gas boiler")
    ann.press("5")
    ann.saved(1)
    ann.press("c")
    ann.page.keyboard.type("The text says more than that")
    ann.press("Escape")
    ann.saved(2)
    ann.page.click("[data-focus=undo]")
    ann.saved(3)
    assert [event.get("comment") for event in events(served)] == [None, "The text says more than that", None]
    for _ in range(200):
        if ann.page.input_value("[data-comment]") == "":
            break
        time.sleep(0.05)
    assert ann.page.input_value("[data-comment]") == ""


def test_entries_that_came_while_the_stream_was_broken_are_shown(serve: Serve) -> None:
    served, reviewer = serve()
    ann, ben = reviewer(), reviewer("ben")
    ann.read(0, "A gas boiler")
    ben.read(0, "A gas boiler")
    ann.context.set_offline(offline=True)
    served.kill()
    served.start()
    ben.press("+")
    ben.page.keyboard.type("Is it loud?")
    ben.page.click("#draft button:text('Commit')")
    ben.page.wait_for_selector(".card:has-text('Is it loud?')")
    ann.context.set_offline(offline=False)
    ann.page.wait_for_selector(".card:has-text('Is it loud?')")


def test_a_draft_survives_a_reload_and_goes_with_its_commit(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.read(0, "A gas boiler")
    ann.select_text("gas boiler")
    ann.press("+")
    ann.page.keyboard.type("Is it loud?")
    ann.page.reload()
    ann.page.wait_for_selector(READY)
    assert ann.page.input_value("#draft textarea") == "Is it loud?"
    ann.page.click("#draft button:text('Check impact')")
    ann.page.wait_for_selector(".covers:has-text('does not separate systems')")
    ann.page.click("#draft button:text('Commit')")
    ann.saved(2)
    assert events(served)[1]["spans"][0]["text"] == "gas boiler"
    ann.page.reload()
    ann.page.wait_for_selector(READY)
    assert ann.page.locator("#draft").is_hidden()


def test_a_finished_fair_sample_says_so(serve: Serve) -> None:
    _, reviewer = serve()
    ann = reviewer()
    ann.go("#/fair")
    for number in range(1, 19):
        ann.press("0")
        ann.saved(number)
        if ann.page.locator(".queue:has-text('all 6 entries decided')").count():
            break
        ann.page.click(".queue [data-focus=next]")
    ann.page.wait_for_selector(".queue:has-text('all 6 entries decided')")
    ann.page.reload()
    ann.page.wait_for_selector(READY)
    ann.go("#/")
    ann.page.wait_for_selector(".queue:has-text('all 6 entries decided')")
    assert ann.page.locator(".queue a").is_hidden()
    assert ann.page.locator("#standings th:text-is('Places')").count() == 1


def test_the_grid_keeps_its_selection_while_entries_change(serve: Serve) -> None:
    served, reviewer = serve()
    ann, ben = reviewer(), reviewer("ben")
    ben.go("#/q/0")
    ben.page.select_option("[data-focus='Sort by']", "e1")
    ben.press("j", "l")
    chosen = ben.page.inner_text(".selected-pair h2, .selected-pair a").split()[0]
    ben.page.wait_for_selector(".selected-pair:has-text('What does a boiler burn?')")
    ann.go("#/q/0")
    ann.page.click("button[aria-label='Remove entry 1']")
    ann.page.click("#draft button:text('Commit')")
    ben.page.wait_for_selector(".selected-pair:has-text('with entry 1')")
    assert ben.page.input_value("[data-focus='Sort by']") == "e0"
    ben.press("5")
    ben.saved(2)
    assert ben.page.inner_text(".selected-pair h2, .selected-pair a").split()[0] == chosen
    assert (events(served)[1]["passage_id"], events(served)[1]["id"]) == (chosen, "q1/1")


def test_the_fair_sample_keeps_its_pair_while_entries_change(serve: Serve) -> None:
    _, reviewer = serve()
    ann, ben = reviewer(), reviewer("ben")
    ann.go("#/fair")
    ann.page.click(".queue [data-focus=next]")
    ann.press("3")
    ann.saved(1)
    ann.page.click(".queue [data-focus=next]")
    pair = (
        ann.page.inner_text("h1"),
        ann.page.inner_text(".text p"),
        ann.page.inner_text(".card.selected")[:60],
    )
    for query in range(3):
        ben.go(f"#/q/{query}")
        ben.press("+")
        ben.page.keyboard.type(f"Is it loud, {query}?")
        ben.page.click("#draft button:text('Commit')")
        ben.page.wait_for_selector(".entry-text:has-text('Is it loud')")
    ann.page.wait_for_selector(".verdict:has-text('3 made')")
    now = (
        ann.page.inner_text("h1"),
        ann.page.inner_text(".text p"),
        ann.page.inner_text(".card.selected")[:60],
    )
    assert now == pair


def test_changes_of_a_closed_tab_come_before_those_of_an_open_one(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.go("#/q/0/p/0/e/0")
    other = ann.open("#/q/0/p/0/e/0")
    served.kill()
    other.keyboard.press("4")
    other.wait_for_selector("#status:has-text('1 not saved yet')")
    other.close()
    served.start()
    ann.saved(1)
    ann.press("0")
    ann.saved(2)
    assert [event["rating"] for event in events(served)] == [4, 0]


def test_a_whole_passage_can_be_selected(serve: Serve) -> None:
    _, reviewer = serve()
    ann = reviewer()
    ann.read(0, "A gas boiler")
    for what in ("document.querySelector('.text p')", "document.querySelector('#main')"):
        ann.page.evaluate(f"getSelection().selectAllChildren({what})")
        ann.page.click("#selection button")
        ann.page.wait_for_selector(f"#draft .chip[title='{TEXTS['q1'][1]}']")
        ann.page.click("#draft button:text('Discard')")


def test_what_is_typed_is_about_what_is_shown(serve: Serve) -> None:
    """Ben's comment on an entry, which ann rewords meanwhile: the next key is no rating of the new text."""
    _served, reviewer = serve()
    ann, ben = reviewer(), reviewer("ben")
    ben.go("#/q/0/p/0/e/0")
    ben.press("5")
    ben.saved(1)
    ben.press("c")
    ann.go("#/q/0")
    ann.page.click("button[aria-label='Edit entry 1']")
    ann.page.fill("#draft textarea", "What does a boiler never burn?")
    ann.page.click("#draft button:text('Commit')")
    ann.saved(2)
    ann.page.wait_for_selector(".entry-text:has-text('never burn')")
    assert ben.page.locator(".card:has-text('never burn')").count() == 0, "he types"
    ben.page.keyboard.type("Fuel")
    ben.press("Escape")
    ben.page.wait_for_selector(".card.selected:has-text('never burn')")
    ben.page.wait_for_selector("#status:has-text('Not saved (rated “Fuel”)')")
    for _ in range(100):  # the first keys after a new wording do nothing
        ben.press("3")
        if ben.page.locator(".card.selected .rate.chosen:text-is('3')").count():
            break
        time.sleep(0.05)
    ben.page.reload()
    ben.page.wait_for_selector(READY)
    ben.page.wait_for_selector("#status button")
    assert "“Fuel”" in ben.page.inner_text("#status"), "until it is dismissed"
    ben.page.click("#status button")
    ben.saved(3)


def test_the_selected_entry_stays_selected(serve: Serve) -> None:
    served, reviewer = serve()
    ann, ben = reviewer(), reviewer("ben")
    ben.go("#/q/0/p/0/e/1")
    ann.go("#/q/0")
    ann.page.click("button[aria-label='Remove entry 1']")
    ann.page.click("#draft button:text('Commit')")
    ben.page.wait_for_selector(".card.selected:has-text('1 What does a boiler burn?')")
    ben.press("5")
    ben.saved(2)
    assert events(served)[1]["id"] == "q1/1"


def test_a_reworded_entry_stays_selected(serve: Serve) -> None:
    """Ann rewords the second entry: it stays selected for her, without a word, and for ben, with a notice."""
    served, reviewer = serve()
    ann, ben = reviewer(), reviewer("ben")
    ben.go("#/q/0/p/0/e/1")
    ann.go("#/q/0")
    ann.press("l")
    ann.page.click("button[aria-label='Edit entry 2']")
    ann.page.fill("#draft textarea", "What does a boiler never burn?")
    ann.page.click("#draft button:text('Commit')")
    ben.page.wait_for_selector(".card.selected:has-text('never burn')")
    ann.page.wait_for_selector(".selected-pair:has-text('never burn')")
    ann.saved(1)
    ben.page.wait_for_selector("#status:has-text('Somebody reworded the selected entry.')")
    ben.press("5")
    ben.page.wait_for_selector("#status:has-text('Somebody reworded the selected entry.')")
    for _ in range(100):
        ben.press("h")
        if ben.page.locator(".card.selected:has-text('How much heat')").count():
            break
        time.sleep(0.05)
    ben.saved(1)
    ann.page.click("button[aria-label='Remove entry 2']")
    ann.page.click("#draft button:text('Commit')")
    ben.page.wait_for_selector(".card.selected:has-text('How much heat')")
    ann.saved(2)
    assert [event["op"] for event in events(served)] == ["reword", "remove"]


def test_a_draft_whose_entry_is_gone_is_kept(serve: Serve) -> None:
    _served, reviewer = serve()
    ann, ben = reviewer(), reviewer("ben")
    ann.go("#/q/0")
    ann.page.click("button[aria-label='Edit entry 1']")
    ann.page.fill("#draft textarea", "How much heat for what price?")
    ben.go("#/q/0")
    ben.page.click("button[aria-label='Remove entry 1']")
    ben.page.click("#draft button:text('Commit')")
    alert = "#draft [role=alert]:has-text('Somebody removed or reworded this entry meanwhile.')"
    ann.page.wait_for_selector(alert)
    ann.page.reload()
    ann.page.wait_for_selector(alert)
    assert ann.page.input_value("#draft textarea") == "How much heat for what price?"
    ann.page.click("#draft button:text('Commit')")
    ann.page.wait_for_selector("#draft [role=alert]:has-text('perhaps it was removed')")


def test_no_click_is_lost_while_others_change_things(serve: Serve) -> None:
    """What is redrawn between the press and the release of a mouse button would get no click."""
    _served, reviewer = serve()
    ann, ben = reviewer(), reviewer("ben")
    ben.go("#/q/0/p/0/e/0")
    for view, button, opened in (
        ("#/q/0", "button[aria-label='Edit entry 1']", "#draft textarea"),
        ("#/q/0/p/0/e/0", ".card.selected .rate:text-is('4')", ".card.selected .rate.chosen:text-is('4')"),
    ):
        ann.go(view)
        ann.page.hover(button)
        ann.page.mouse.down()
        ben.press("5" if view == "#/q/0" else "3")
        ann.saved(1 if view == "#/q/0" else 2)
        ann.page.mouse.up()
        ann.page.wait_for_selector(opened)
    ann.page.wait_for_selector(".card.selected .grader[title='human:ben']")


def test_a_text_selected_by_mouse_stays_selected(serve: Serve) -> None:
    _served, reviewer = serve()
    ann = reviewer()
    ann.read(0, "A gas boiler")
    box = ann.page.locator(".text p").bounding_box()
    ann.page.mouse.move(box["x"] + 3, box["y"] + 12)
    ann.page.mouse.down()
    ann.page.mouse.move(box["x"] + 150, box["y"] + 12, steps=4)
    ann.page.mouse.up()
    ann.page.wait_for_selector("#selection button")
    ann.page.evaluate("new Promise((done) => setTimeout(done))")  # after what a release redraws
    assert ann.page.evaluate("getSelection().toString()").startswith("A gas boiler")


def test_another_draft_replaces_a_typed_one_only_when_asked(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.go("#/q/0")
    ann.page.click("button[aria-label='Edit entry 1']")
    ann.page.keyboard.type("remember this: ")  # and no letter chooses another kind of change
    ann.page.click("button[aria-label='Remove entry 2']")
    ann.page.wait_for_selector("#dialog:has-text('remember this')")
    ann.press("Escape")
    assert "remember this" in ann.page.input_value("#draft textarea")
    ann.page.click("button[aria-label='Remove entry 2']")
    ann.page.click("#dialog .primary")
    ann.page.wait_for_selector("#draft textarea", state="detached")
    ann.page.click("#draft button:text('Commit')")
    ann.saved(1)
    assert [event["op"] for event in events(served)] == ["remove"]


def test_a_full_disk_keeps_the_queue(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.go("#/q/0/p/0/e/0")
    ann.press("3")
    ann.saved(1)
    size = (served.study / "live/log.jsonl").stat().st_size
    limits = resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, (size + 10, resource.RLIM_INFINITY))
    ann.press("l", "5")
    ann.page.wait_for_selector("#status:has-text('1 not saved yet: '):has-text('cannot be written')")
    ann.page.reload()
    ann.page.wait_for_selector(READY)
    ann.press("h", "1")
    ann.page.wait_for_selector("#status:has-text('2 not saved yet')")
    resource.prlimit(served.process.pid, resource.RLIMIT_FSIZE, limits)
    ann.saved(3)
    assert sorted(event["rating"] for event in events(served)) == [1, 3, 5]


def test_a_refused_change_is_shown_and_not_sent_again(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.go("#/q/0/p/0/e/0")
    ann.press("5", "5")
    ann.saved(2)
    ann.press("+")
    ann.page.keyboard.type("What does a boiler burn?")
    ann.page.click("#draft button:text('Commit')")
    ann.page.wait_for_selector("#draft [role=alert]:has-text('already has the text')")
    assert ann.page.input_value("#draft textarea") == "What does a boiler burn?", "nothing is lost"
    ann.page.fill("#draft textarea", "What does a boiler cost?")
    ann.page.click("#draft button:text('Commit')")
    ann.saved(3)
    assert [event["op"] for event in events(served)] == ["rate", "rate", "add"]


def test_passages_in_the_order_of_consequence(serve: Serve) -> None:
    """A passage that covers nothing, as somebody found, comes after those that alone cover an entry."""
    _served, reviewer = serve()
    ann = reviewer()
    for seq, (passage, key) in enumerate([(0, "0"), (2, "5")], 1):
        ann.go(f"#/q/0/p/{passage}/e/0")
        ann.press(key)
        ann.saved(seq)
    ann.go("#/q/0")
    last = ".grid tr[aria-rowindex]:not(:has(~ tr[aria-rowindex]))"
    ann.page.wait_for_selector(f"{last}:has-text('q1-p2')")
    ann.page.select_option("label:has-text('Sort by') select", label="could move a place")
    ann.page.wait_for_selector(f"{last}:has-text('q1-p0')")


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


def test_undo_waits_for_the_server(serve: Serve) -> None:
    served, reviewer = serve()
    ann = reviewer()
    ann.go("#/q/0/p/0/e/0")
    ann.press("5")
    ann.saved(1)
    served.kill()
    ann.press("3", "z", "4", "z", "2")
    ann.page.wait_for_selector("#status:has-text('5 not saved yet: The server does not answer')")
    ann.page.close()
    served.start()
    ann.page = ann.open("#/q/0/p/0/e/0")
    ann.saved(6)
    assert [(event.get("rating"), event.get("of")) for event in events(served)] == [
        (5, None), (3, None), (None, 2), (4, None), (None, 4), (2, None),
    ]  # fmt: skip
    ann.page.wait_for_selector(".card.selected .rate.chosen:text-is('2')")


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
    ann.press("?")
    assert "impact" not in ann.page.inner_text("#dialog")
    ann.press("Escape", "+")
    ann.page.keyboard.type("Is it loud?")
    assert ann.page.locator("#draft button").all_inner_texts() == ["Commit", "Discard"]
    ann.press("Enter")
    ann.saved(2)
    ann.page.wait_for_selector(".card:has-text('Is it loud?')")


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
