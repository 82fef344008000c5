"""Edge cases of the review page: last pair, held keys, two tabs, many entries, small windows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.store.banks.bank_json import read_bank
from tests.conftest import passage, rubric
from tests.data_and_processes.conftest import RATED, Tab, run

OpenTab = Callable[..., Tab]
GRID = ".grid td.cell"


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two queries of three passages, with two and with sixty bank entries."""
    folder = tmp_path_factory.mktemp("small")
    graded, bank = [], []
    for query_id, size in (("few", 2), ("many", 60)):
        ids = [f"{query_id}/{number}" for number in range(size)]
        items = [
            {"query_id": query_id, "question_id": key, "question_text": f"What of {key}?"} for key in ids
        ]
        bank.append({"query_id": query_id, "query_text": query_id, "items": items})
        ratings = dict.fromkeys(ids, 2)
        graded.append([query_id, [passage(f"p{p}", exam_grades=[rubric(ratings)]) for p in range(3)]])
    for name, lines in (("graded.jsonl", graded), ("bank.jsonl", bank)):
        (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run("review", folder / "graded.jsonl", "--bank", folder / "bank.jsonl", "--prompt", RATED,
        "--reviewer", "ana", "-o", folder / "review.html")  # fmt: skip
    return folder


@pytest.fixture
def page(small: Path, tab: OpenTab) -> Tab:
    """The query with two entries."""
    page = tab(small / "review.html").go("#/q/0")
    page.page.wait_for_selector(GRID)
    page.page.focus(".grid")
    return page


def advance(page: Tab) -> None:
    page.press("?")
    page.page.click("text=Go to the next pair after a rating")
    page.press("Escape")


def cells(page: Tab) -> list[str]:
    return list(page.page.locator(GRID).all_inner_texts())


def test_the_last_pair_stays_selected(page: Tab) -> None:
    advance(page)
    page.press(*"555555", "4")
    assert cells(page) == ["2→5"] * 5 + ["2→4"], "the last pair stays selected"
    page.go("#/q/0/p/2/e/1")
    page.page.wait_for_selector(".card.selected")
    page.press("3", "1")
    assert page.page.get_attribute(".card.selected", "aria-label") == "Entry 2"
    page.go("#/q/0")
    page.page.wait_for_selector(GRID)
    assert cells(page) == ["2→5"] * 5 + ["2→1"]


def test_a_held_key_rates_one_pair(page: Tab) -> None:
    advance(page)
    for _ in range(5):
        page.page.keyboard.down("5")  # the browser repeats the key
    page.page.keyboard.up("5")
    assert page.text("#status") == "1 rating: not saved"
    assert cells(page)[:2] == ["2→5", "2"]


def test_tabs_show_the_work_of_other_tabs(page: Tab, small: Path) -> None:
    other = Tab(page.page.context.new_page()).open(small / "review.html").go("#/q/0")
    other.page.wait_for_selector(GRID)
    page.press("5")
    other.page.wait_for_selector(f"{GRID}.own")
    assert cells(other)[0] == "2→5"
    # A comment that is being written is not disturbed.
    page.press("c")
    page.page.keyboard.type("a com")
    other.page.focus(".grid")
    other.press("j", "4")
    page.page.wait_for_selector("#status:has-text('2 ratings')")
    page.page.keyboard.type("ment")
    assert page.page.evaluate("document.activeElement.value") == "a comment"
    # Neither is an open dialog, and its change is shown.
    page.press("Escape")
    page.page.click("[aria-label='Edit entry 2']")
    page.page.fill("#dialog textarea", "Other words?")
    page.page.evaluate(
        "window.heard = new Promise((done) => addEventListener('storage', () => done(true))) && null"
    )
    other.press("5")
    page.page.evaluate("window.heard")
    page.page.click("#dialog .primary")
    page.page.wait_for_selector(".entries :text('Other words?')")
    other.go("#/work")
    other.page.wait_for_selector("table.list")
    assert "a comment" in other.text("main")
    assert other.page.locator("table.list tbody tr").count() == 3


def test_the_storage_is_used_when_the_page_is_shown(page: Tab) -> None:
    """Before, Chromium gives some pages from disk a storage that is lost with the page."""
    page.page.context.add_init_script(
        """window.early = [];
        let isShown = false;
        addEventListener("pageshow", () => setTimeout(() => { isShown = true; }));
        const get = Storage.prototype.getItem;
        Storage.prototype.getItem = function (key) {
            if (!isShown) early.push(key);
            return get.call(this, key);
        };"""
    )
    page.press("5")
    page.page.reload()
    page.page.wait_for_selector(f"{GRID}.own")
    assert page.page.evaluate("early") == []


def test_changes_after_a_download_are_not_saved(page: Tab) -> None:
    page.press("5")
    with page.page.expect_download():
        page.press("Control+S")  # as with Caps Lock
    page.page.click("[aria-label='Edit entry 1']")
    page.page.click("#dialog .primary")
    page.page.wait_for_selector("#dialog:not([open])", state="attached")
    assert page.text("#status") == "1 rating: saved", "nothing was changed"
    page.page.fill("[data-focus=reviewer]", "bea")
    assert page.text("#status") == "1 rating: not saved", "the file has another name"


def test_edits_of_another_file_must_be_saved_again(page: Tab, small: Path, tmp_path: Path) -> None:
    """The commands require the digest of the file, which the loaded edits lack."""
    saved = {"query_id": "few", "passage_id": "p0", "id": "few/0", "rating": 5}
    edits = {
        "format": "exam_pp.edits.v1",
        "graded_sha256": "0" * 64,
        "reviewer": "ana",
        "ratings": [saved],
    }
    (tmp_path / "old.json").write_text(json.dumps(edits), encoding="utf-8")
    page.page.set_input_files("#load-file", tmp_path / "old.json")
    page.page.wait_for_selector("#dialog[open] .primary")
    assert "for another graded file" in page.text("#dialog")
    page.page.click("#dialog .primary")
    page.page.wait_for_selector("#status:text-is('1 rating: not saved')")
    page.save(tmp_path)
    assert page.text("#status") == "1 rating: saved"
    page.page.set_input_files("#load-file", tmp_path / "edits.json")
    page.page.wait_for_selector("#announcer:has-text('Loaded')", state="attached")
    assert page.text("#status") == "1 rating: saved"
    bank = small / "bank.jsonl"
    run(
        "apply", small / "graded.jsonl", tmp_path / "edits.json", "--bank", bank, "-o", tmp_path / "out.jsonl"
    )


def test_edits_of_a_removed_entry_fit_the_bank(page: Tab, small: Path, tmp_path: Path) -> None:
    """A removed entry cannot be edited, because the bank refuses edits of removed entries."""
    page.page.click("[aria-label='Edit entry 1']")
    page.page.fill("#dialog textarea", "Reworded?")
    page.page.click("#dialog .primary")
    page.page.click("[aria-label='Remove entry 1']")
    page.page.click("#dialog .primary")
    page.page.wait_for_selector("[aria-label='Restore entry 1']")
    assert page.page.locator("[aria-label='Edit entry 1']").count() == 0
    page.save(tmp_path)
    run("bank", "apply", small / "bank.jsonl", tmp_path / "edits.json", "-o", tmp_path / "bank.jsonl")
    assert list(read_bank(tmp_path / "bank.jsonl").entries("few")) == ["few/1"]
    page.page.click("[aria-label='Restore entry 1']")
    assert page.page.locator("[aria-label='Edit entry 1']").count() == 1


def in_view(page: Tab, selector: str, box: dict[str, Any]) -> bool:
    inner = page.page.locator(selector).bounding_box()
    assert inner is not None
    return bool(
        box["x"] <= inner["x"]
        and inner["x"] + inner["width"] <= box["x"] + box["width"] + 1
        and box["y"] <= inner["y"]
        and inner["y"] + inner["height"] <= box["y"] + box["height"] + 1
    )


def test_the_selected_entry_of_many_is_in_view(page: Tab) -> None:
    page.go("#/q/1")
    page.page.wait_for_selector(GRID)
    window = {"x": 0, "y": 0, "width": 1360, "height": 900}
    assert not in_view(page, ".grid", window), "the entries take the window"
    for key in ["l"] * 45 + ["h"] * 30:
        page.press(key)
        grid = page.page.locator(".grid").bounding_box()
        assert grid is not None
        assert in_view(page, "[aria-selected=true]", grid), key
    assert in_view(page, ".grid", window)
    names = page.page.locator(".grid tbody .passage").first.bounding_box()
    cell = page.page.locator("[aria-selected=true]").bounding_box()
    assert names is not None
    assert cell is not None
    assert cell["x"] >= names["x"] + names["width"] - 1
    page.press(*["l"] * 30, "Enter")
    page.page.wait_for_selector(".card.selected")
    assert page.page.get_attribute(".card.selected", "aria-label") == "Entry 46"
    assert in_view(page, ".card.selected", window)


@pytest.mark.parametrize("view", ["#/", "#/q/0", "#/q/0/p/0/e/1", "#/work"])
def test_a_small_window_scrolls_in_one_direction(page: Tab, view: str) -> None:
    """WCAG 2.1, 1.4.10: at 320 pixels only tables scroll horizontally."""
    page.page.set_viewport_size({"width": 320, "height": 480})
    page.press("5")
    page.go(view)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 320
