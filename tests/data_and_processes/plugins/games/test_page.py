"""Page of games in a browser: decide, undo, comment, save, load, apply; hostile texts; accessibility."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.store.games_files import read_games
from tests.data_and_processes.conftest import Tab, run
from tests.plugins.games.answers import (
    answers_file,
    document,
    games_in,
    part,
    queries_file,
    write_lines,
)

OpenTab = Callable[..., Tab]
SEED = 3


@pytest.fixture
def page_file(tmp_path: Path) -> Path:
    """A page with 6 games of 2 queries."""
    answers_file(tmp_path)
    run("review-games", tmp_path / "answers.jsonl", "--queries", queries_file(tmp_path), "--seed", SEED,
        "-o", tmp_path / "games.html")  # fmt: skip
    return tmp_path / "games.html"


def answers(tab: Tab) -> tuple[str, str]:
    """The texts in the places A and B."""
    return tab.text("[aria-label='Text of answer A']"), tab.text("[aria-label='Text of answer B']")


def press(tab: Tab, *keys: str) -> None:
    """Press keys; after each of them, wait until the game of the address is drawn."""
    for key in keys:
        tab.press(key)
        tab.page.wait_for_function(
            """() => {
                const game = /^#\\/g\\/(\\d+)/u.exec(window.location.hash);
                const heading = document.querySelector(".heading")?.textContent ?? "";
                return !game || heading.includes(`Game ${Number(game[1]) + 1} of`);
            }"""
        )


def test_from_the_page_to_games(page_file: Path, tab: OpenTab, tmp_path: Path) -> None:
    """The winners in the games file are those of the answers that the person saw, by their texts."""
    page = tab(page_file)
    winners: dict[tuple[str, ...], str | None] = {}
    for key in "abtsab":
        (a, b), asked = answers(page), page.text("h1")
        winners[(asked, *sorted((a, b)))] = {"a": a, "b": b}.get(key, key)
        press(page, key)
    assert len(winners) == 6
    assert page.text("#status") == "5 of 6 decided, 1 skipped: not saved"
    edits = page.save(tmp_path, "ana")
    assert page.text("#status") == "5 of 6 decided, 1 skipped: saved"
    output = tmp_path / "games.jsonl"
    run("apply", tmp_path / "answers.jsonl", edits, "--seed", SEED, "--queries",
        tmp_path / "queries.tsv", "-o", output)  # fmt: skip
    texts = {
        (game.query_id, output.system): output.text
        for game in games_in(tmp_path / "answers.jsonl")
        for output in (game.a, game.b)
    }
    got: dict[tuple[str, ...], str | None] = {}
    for query in read_games(output):
        (game_set,) = query.game_sets
        assert game_set.model == "human:ana"
        for game in game_set.games:
            a, b = texts[query.query_id, game.system_a], texts[query.query_id, game.system_b]
            winner = {"A": a, "B": b}.get(game.winner or "", "t")
            got[(str(query.query_text), *sorted((a, b)))] = winner
    assert got == {key: winner for key, winner in winners.items() if winner != "s"}


def test_undo_comments_and_reloading(page_file: Path, tab: OpenTab, tmp_path: Path) -> None:
    page = tab(page_file)
    first = answers(page)
    press(page, "a")
    assert "Game 2 of 6. 1 decided" in page.text(".heading")
    press(page, "u")
    assert answers(page) == first
    assert page.text("#status") == "no decisions yet"
    assert page.page.locator(".chosen").count() == 0

    # A comment before the decision stays with it, and its letters are no keys.
    press(page, "c")
    page.page.keyboard.insert_text("about <b>bats</b>")
    press(page, "Escape", "b", "ArrowLeft")
    assert page.page.input_value("textarea") == "about <b>bats</b>"
    assert page.text(".chosen") == "B better"

    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    assert page.text("#status") == "1 of 6 decided: not saved"
    page.go("#/")
    assert "Game 2 of 6" in page.text(".heading"), "the first game without a decision"
    edits = page.save(tmp_path, "ana")
    (game,) = json.loads(edits.read_text(encoding="utf-8"))["games"]
    assert (game["winner"], game["comment"]) == ("B", "about <b>bats</b>")

    page.go("#/work")
    assert "about <b>bats</b>" in page.text("main table")
    page.page.click("main table button")
    assert page.text("#status") == "no decisions yet"
    page.page.set_input_files("#load-file", edits)
    page.page.wait_for_selector("#status:has-text('1 of 6 decided: saved')")


def test_keys_that_come_too_fast_decide_only_games_that_are_shown(page_file: Path, tab: OpenTab) -> None:
    page = tab(page_file)
    page.page.evaluate(
        "for (let i = 0; i < 4; i++) document.body.dispatchEvent("
        "new KeyboardEvent('keydown', { key: 'a', bubbles: true }))"
    )
    page.page.wait_for_selector(".heading:has-text('Game 2 of 6')")
    assert page.text("#status") == "1 of 6 decided: not saved"


def test_buttons_and_passages(tab: OpenTab, tmp_path: Path) -> None:
    parts = [
        part("q1", "s", "one", citations=["d2"]),
        part("q1", "t", "two", citations=["d1"]),
        document("q1", "d1", "first text"),
        document("q1", "d2", "second text"),
    ]
    write_lines(tmp_path / "answers.jsonl", [["q1", parts]])
    run("review-games", tmp_path / "answers.jsonl", "--queries", queries_file(tmp_path, "q1"),
        "-o", tmp_path / "games.html")  # fmt: skip
    page = tab(tmp_path / "games.html")
    cited = {"one": "second text", "two": "first text"}
    for place, text in zip("AB", answers(page), strict=True):
        word, number = text.rstrip(")").split(" (P")
        passage = page.page.locator(f"[aria-label='Passage {number}']")
        assert cited[word] in passage.inner_text()
        assert f"cited by {place}" in passage.inner_text()
    columns = page.page.locator(".with-passages")
    assert columns.count() == 1
    press(page, "p")
    assert columns.count() == 0
    assert not page.page.locator("[aria-label='Passage 1']").is_visible()
    page.page.click("button:has-text('Tie')")
    assert page.page.get_attribute(":focus", "aria-pressed") == "true", "the focus stays"
    page.page.click("button:has-text('Tie')")
    assert page.text("#status") == "no decisions yet", "the same decision again removes it"
    page.page.click("button:has-text('Undo')")
    assert page.text("#status") == "1 of 1 decided: not saved"


@pytest.mark.parametrize(
    ("games", "message"),
    [
        ([{"query_id": "q1", "id": "x", "winner": "D"}], "needs a \"winner\" among A, B, C and null"),
        ([{"query_id": "q1", "id": "x"}], "needs a \"winner\" among"),
        ([{"query_id": "q1", "winner": "A"}], "Game 1 needs a \"query_id\" and an \"id\""),
        ([{"query_id": "q1", "id": "x", "winner": "A"}] * 2, "Game 2 has the \"id\" of an earlier game"),
        ({}, "\"games\" must be a list of objects"),
        ([{"query_id": "q1", "id": "x", "winner": "A"}], "1 game is not on this page"),
    ],
)  # fmt: skip
def test_damaged_edits_are_refused(
    page_file: Path, tab: OpenTab, tmp_path: Path, games: Any, message: str
) -> None:
    page = tab(page_file)
    path = tmp_path / "edits.json"
    path.write_text(json.dumps({"format": "exam_pp.edits.v1", "games": games}), encoding="utf-8")
    page.page.set_input_files("#load-file", path)
    page.page.wait_for_selector("#dialog[open]")
    assert message in page.text("#dialog")
    page.press("Escape")
    assert page.text("#status") == "no decisions yet"


def test_hostile_texts_stay_texts(tab: OpenTab, tmp_path: Path) -> None:
    hostile = [
        "<script>window.hacked = 1</script>",
        "</script></style></textarea><img src=x onerror='window.hacked = 2'>",
        "a\u0000b \u202eevil\u202c <!-- ${x} {{constructor}}",
    ]
    parts = [part("q1", f"s{n}", text, citations=["d"]) for n, text in enumerate(hostile)]
    write_lines(tmp_path / "answers.jsonl", [["q1", [*parts, document("q1", "d", hostile[1])]]])
    (tmp_path / "queries.json").write_text(json.dumps({"q1": hostile[0]}), encoding="utf-8")
    run("review-games", tmp_path / "answers.jsonl", "--queries", tmp_path / "queries.json", "--reviewer",
        hostile[1], "-o", tmp_path / "games.html")  # fmt: skip
    page = tab(tmp_path / "games.html")
    scripts = page.page.locator("script:not([type])").count()
    seen = set()
    for _ in range(3):
        for place in "AB":
            selector = f"[aria-label='Text of answer {place}']"
            shown = page.page.evaluate("s => document.querySelector(s).firstChild.textContent", selector)
            seen.add(shown)
        assert page.page.evaluate("document.querySelector('h1').textContent") == hostile[0]
        press(page, "c")
        page.page.keyboard.insert_text(hostile[1])
        press(page, "Escape", "t")
    assert seen == set(hostile)
    page.go("#/work")
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator("main img, main script, main style, main iframe, base").count() == 0
    assert page.page.locator("script:not([type])").count() == scripts


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1360])
def test_accessibility(page_file: Path, tab: OpenTab, tmp_path: Path, scheme: str, width: int) -> None:
    """axe-core reports no violation of WCAG 2.1 AA or good practice, and nothing scrolls sideways."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = tab(page_file, color_scheme=scheme)
    page.page.set_viewport_size({"width": width, "height": 800})
    press(page, "a", "s", "ArrowLeft")
    for address in ("#/g/0", "#/g/1", "#/g/2", "#/work"):
        page.go(address)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= width
        violations = axe.run(page.page).response["violations"]
        assert [(item["id"], item["nodes"][0]["html"][:120]) for item in violations] == []
    press(page, "?")
    assert page.page.locator("#dialog[open]").count() == 1
    assert [item["id"] for item in axe.run(page.page).response["violations"]] == []
