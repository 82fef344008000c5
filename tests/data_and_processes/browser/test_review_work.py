"""Review page in a browser: rate by keyboard, edit the bank, save, apply the edits, continue later."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.cover import cover
from exam_pp.store.banks.bank_json import read_bank
from exam_pp.store.edits import file_sha256, read_edits
from exam_pp.store.passages.graded_file import read_passages
from tests.conftest import passage, rubric
from tests.data_and_processes.conftest import RATED, Tab, means_on, run

OpenTab = Callable[..., Tab]


def test_overview(demo: Path, tab: OpenTab) -> None:
    page = tab(demo / "review.html")
    text = page.text("main")
    assert "20 queries" in text
    assert "Cover(min_grade=4)@5" in text
    assert page.page.locator("#queries tbody tr").count() == 20
    assert page.page.locator("svg.plot rect").count() == 6, "a column for every rating"
    page.page.fill("[data-search]", "hubble")
    assert page.page.locator("#queries tbody tr").count() == 1
    page.page.fill("[data-search]", "no such words")
    assert "No query matches." in page.text("#queries")
    page.page.fill("[data-search]", "")


@pytest.mark.parametrize("earlier", [False, True], ids=["first review", "after two reviewers"])
def test_the_leaderboard_moves_as_the_scores_will(
    demo: Path, tab: OpenTab, tmp_path: Path, earlier: bool
) -> None:
    """The page's scores with five corrected grades are those of the file after they are applied."""
    graded, bank = demo / "graded.jsonl.gz", demo / "bank.jsonl"
    for name, rating in (("bo", 5), ("cy", 0)) if earlier else ():
        ratings = [
            {"query_id": q.query_id, "passage_id": q.passages[0].passage_id, "id": entry, "rating": rating}
            for q in list(read_passages(graded))[:3]
            for entry in list(read_bank(bank).entries(q.query_id))[:3]
        ]
        edits = tmp_path / f"{name}.json"
        edits.write_text(json.dumps({"format": "exam_pp.edits.v1", "reviewer": name, "ratings": ratings}))
        run("apply", graded, edits, "--prompt-class", RATED, "--force", "-o", tmp_path / f"{name}.jsonl.gz")
        graded = tmp_path / f"{name}.jsonl.gz"
    run("review", graded, "--bank", bank, "--prompt-class", RATED, "-o", tmp_path / "page.html")
    page = tab(tmp_path / "page.html")
    before = means_on(page)
    for query in range(5):
        page.page.evaluate(f"location.hash = '#/q/{query}/p/{query % 2}/e/1'")
        page.page.wait_for_selector(".card.selected")
        page.press("0" if query != 3 else "5")
        page.page.wait_for_function("document.getElementById('lead').textContent.includes('%')")
    page.page.evaluate("location.hash = '#/'")
    page.page.wait_for_selector(".leaderboard td:nth-child(4)")
    moved = means_on(page)
    edits = page.save(tmp_path, "ann")
    run(
        "apply", graded, edits, "--bank", bank, "--prompt-class", RATED, "-o", tmp_path / "corrected.jsonl.gz"
    )
    evaluation = cover(tmp_path / "corrected.jsonl.gz", bank, grade_filter=GradeFilter(prompt_class=RATED))
    expected = {
        row.system: row.mean for row in standings(evaluation.scores) if row.metric.startswith("Cover")
    }

    assert moved == pytest.approx(expected, abs=1e-12)
    assert moved != before


def test_a_review_from_beginning_to_end(demo: Path, tab: OpenTab, tmp_path: Path) -> None:
    page = tab(demo / "review.html")
    # Open the second query by keyboard, filter, and rate three passages.
    page.press("j", "Enter")
    page.page.wait_for_selector(".grid tbody td.cell")
    all_rows = page.page.locator(".grid tbody tr[data-row]").count()
    page.page.select_option("label:has-text('Show') select", "relevant")
    rows = page.page.locator(".grid tbody tr[data-row]").count()
    assert 3 < rows < all_rows
    assert f"{rows} of {all_rows} passages" in page.text("main")
    page.page.focus(".grid")
    page.press("4", "j", "l", "0", "j", "5")
    assert page.page.locator(".grid td.own").count() == 3
    assert "3 ratings: not saved" in page.text("#status")
    assert page.page.title().startswith("• ")
    page.press("c")
    page.page.keyboard.type("says when: 1990")
    page.press("Escape")
    # Reword the first question, remove the second, add one.
    page.page.click("[aria-label='Edit entry 1']")
    page.page.fill("#dialog textarea", "In which year was the Hubble Space Telescope launched?")
    page.page.select_option("#dialog select", "vital")
    page.page.click("#dialog .primary")
    page.page.click("[aria-label='Remove entry 2']")
    page.page.fill("#dialog input[type=text]", "too easy")
    page.page.click("#dialog .primary")
    page.page.click("text=Add an entry …")
    page.page.fill("#dialog textarea", "Who paid for Hubble?")
    page.page.click("#dialog .primary")
    assert "In which year was the Hubble" in page.text(".entries")
    edits = page.save(tmp_path, "ana")
    assert "saved" in page.text("#status")

    # The file has exactly the documented format.
    saved = json.loads(edits.read_text(encoding="utf-8"))
    assert saved["graded_sha256"] == file_sha256(demo / "graded.jsonl.gz")
    assert saved["bank_sha256"] == file_sha256(demo / "bank.jsonl")
    assert saved["reviewer"] == "ana"
    assert [rating["rating"] for rating in saved["ratings"]] == [4, 0, 5]
    assert set(saved["ratings"][0]) == {"query_id", "passage_id", "id", "key", "rating"}
    assert saved["ratings"][2]["comment"] == "says when: 1990"
    assert [(edit["op"], edit.get("text") or edit.get("value")) for edit in saved["bank"]] == [
        ("reword", "In which year was the Hubble Space Telescope launched?"),
        ("importance", "vital"),
        ("remove", None),
        ("add", "Who paid for Hubble?"),
    ]
    assert read_edits(edits).bank[2].reason == "too easy"

    # Apply ratings and bank edits.
    run(
        "apply",
        demo / "graded.jsonl.gz",
        edits,
        "--bank",
        demo / "bank.jsonl",
        "-o",
        tmp_path / "people.jsonl.gz",
    )
    run("bank", "apply", demo / "bank.jsonl", edits, "-o", tmp_path / "bank.jsonl")
    people = {
        (query.query_id, passage.passage_id, key): rating
        for query in read_passages(tmp_path / "people.jsonl.gz")
        for passage in query.passages
        for grades in passage.rubric_grades or ()
        if grades.model == "human:ana"
        for key, rating in grades.entry_ratings().items()
    }
    assert people == {(r["query_id"], r["passage_id"], r["id"]): r["rating"] for r in saved["ratings"]}
    assert "Who paid for Hubble?" in (tmp_path / "bank.jsonl").read_text(encoding="utf-8")

    # A page of the result shows the reviewer and the model.
    run("review", tmp_path / "people.jsonl.gz", "--bank", demo / "bank.jsonl", "-o", tmp_path / "second.html")
    second = tab(tmp_path / "second.html").go("#/q/1")
    second.page.wait_for_selector(".grid")
    second.page.select_option("label:has-text('Show') select", "disagree")
    assert 1 <= second.page.locator(".grid tbody tr[data-row]").count() <= 3
    second.press("j", "k")
    assert "human:ana" in second.text(".selected-pair")


def test_work_is_kept_and_loaded_again(demo: Path, tab: OpenTab, tmp_path: Path) -> None:
    page = tab(demo / "review.html").go("#/q/0/p/2/e/1")
    page.press("3")
    assert page.page.get_attribute("[data-focus=rate-3]", "aria-pressed") == "true"
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    assert "1 rating: not saved" in page.text("#status")
    assert page.page.get_attribute("[data-focus=rate-3]", "aria-pressed") == "true"
    edits = page.save(tmp_path, "bo")

    # Another browser, another day: load, go on, and save again.
    saved = json.loads(edits.read_text(encoding="utf-8"))
    saved["bank"] = [
        {
            "op": "weight",
            "query_id": saved["ratings"][0]["query_id"],
            "id": saved["ratings"][0]["id"],
            "value": 2,
            "reason": "central",
        },
        {"op": "add", "query_id": saved["ratings"][0]["query_id"], "text": "أين يقع؟ 🌊"},
    ]
    saved["ratings"][0]["comment"] = "line one\nline two </textarea>"
    saved["note"] = "a key of somebody else"
    edits.write_text(json.dumps(saved), encoding="utf-8")
    other = tab(demo / "review.html")
    other.page.set_input_files("#load-file", edits)
    other.page.wait_for_selector("#status:has-text('1 rating, 2 edits: saved')")
    again = other.save(tmp_path)
    assert json.loads(again.read_text(encoding="utf-8")) == saved
    other.go("#/work")
    other.page.wait_for_selector("caption:has-text('Ratings')")
    assert "central" in other.text("main")
    assert saved["ratings"][0]["passage_id"] in other.text("main")
    other.page.click("table:has-text('Changes of the bank') button >> nth=0")
    assert "1 rating, 1 edit: not saved" in other.text("#status")


REMOVE = {"op": "remove", "query_id": "d01", "id": "x"}
LABEL = {"query_id": "other", "passage_id": "p", "citation": "A", "support": "full_support"}
UNKNOWN = {"query_id": "d01", "passage_id": "p", "id": "zzz"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"graded_sha256": "0" * 64}, "made for another graded file"),
        ({"bank_sha256": "0" * 64, "bank": [REMOVE]}, "for another bank"),
        ({"ratings": [UNKNOWN | {"rating": 1}]}, "1 rating is for entries"),
        ({"ratings": [UNKNOWN | {"rating": 7}]}, "The rating 7 is not on the scale"),
        ({"format": "other"}, 'its "format" is not exam_pp.edits.v1'),
        ({"ratings": 3}, "must be lists"),
        ({"reviewer": 3}, "must be texts"),
        ({"ratings": [{"query_id": "d01", "id": "zzz", "rating": 1}]}, 'Rating 1 needs a "query_id"'),
        ({"ratings": [UNKNOWN | {"rating": 1, "comment": 3}]}, '"comment" that is not a text'),
        ({"bank": [{"query_id": "d01"}]}, 'Change 1 of the bank needs an "op"'),
        ({"bank": [REMOVE | {"op": "toString"}]}, 'needs an "op"'),
        ({"bank": [REMOVE | {"id": None}]}, 'needs an "id"'),
        ({"bank": [{"op": "add", "query_id": 3, "text": "x"}]}, 'needs a "query_id"'),
        ({"bank": [{"op": "add", "query_id": "d01", "text": " "}]}, 'needs a "text"'),
        ({"bank": [REMOVE | {"op": "weight", "value": "2"}]}, "a number"),
        ({"bank": [REMOVE | {"op": "importance", "value": "great"}]}, "vital or okay"),
        ({"bank": [REMOVE | {"op": "add_gold_answer", "value": 3}]}, "a text and not empty"),
        ({"bank": [REMOVE | {"reason": ["x"]}]}, "is not a text"),
        ({"supports": [{"support": "full_support"}]}, 'Label 1 needs a "query_id"'),
        ({"supports": [LABEL | {"support": "toString"}]}, 'needs a "support" among'),
        ({"supports": [LABEL | {"comment": 1}]}, '"comment"'),
        ({"supports": [LABEL]}, "1 label is for queries"),
        (None, "it is not JSON"),
    ],
)  # fmt: skip
def test_edits_that_do_not_fit_need_a_confirmation(
    demo: Path, tab: OpenTab, tmp_path: Path, change: dict[str, Any] | None, message: str
) -> None:
    page = tab(demo / "review.html")
    value = {
        "format": "exam_pp.edits.v1", "graded_sha256": file_sha256(demo / "graded.jsonl.gz"),
        "bank_sha256": file_sha256(demo / "bank.jsonl"), "reviewer": "x", "ratings": [], "bank": [],
    }  # fmt: skip
    path = tmp_path / "edits.json"
    path.write_text("{" if change is None else json.dumps(value | change), encoding="utf-8")
    page.page.set_input_files("#load-file", path)
    page.page.wait_for_selector("#dialog[open]")
    assert message in page.text("#dialog")
    page.press("Escape")
    assert page.text("#status") == "no edits yet"


@pytest.mark.parametrize(
    "stored", ["{", '{"edits": {"format": "exam_pp.edits.v1", "bank": [{"query_id": "x"}]}}']
)
def test_damaged_work_in_the_browser_can_be_deleted(demo: Path, tab: OpenTab, stored: str) -> None:
    page = tab(demo / "review.html").go("#/q/0/p/0/e/0").press("2")
    page.page.wait_for_selector("#status:has-text('1 rating')")  # or the page stores it after the next lines
    page.page.evaluate(
        """text => {
            const keys = Object.keys(localStorage).filter((key) => key.startsWith("exam_pp.review"));
            const [main, bank] = keys.sort((a, b) => a.length - b.length);
            localStorage.setItem(main, text);
            localStorage.setItem(bank, JSON.stringify({bank: [{query_id: "x"}], saved: true}));
        }""",
        stored,
    )
    page.page.reload()
    page.page.wait_for_selector("#dialog[open]")
    assert "work for this page that cannot be read" in page.text("#dialog")
    with page.page.expect_download() as download:
        page.page.click("#dialog a")
    assert stored in Path(download.value.path()).read_text("utf-8")
    page.press("Escape")
    page.go("#/work")
    assert "No changes yet." in page.text("main")
    page.page.reload()
    page.page.wait_for_selector("#dialog[open]")
    page.page.click("#dialog .primary")
    page.go("#/q/0/p/0/e/0").press("3")
    page.page.reload()
    page.page.wait_for_selector("#status:has-text('1 rating')")
    assert page.page.locator("#dialog[open]").count() == 0


def test_passage_page(demo: Path, tab: OpenTab) -> None:
    page = tab(demo / "review.html").go("#/q/1/p/0/e/0")
    page.page.wait_for_selector(".card.selected")
    text = page.text("main")
    for part in ("judged", "rank", "Margin", "Answer", "Reply", "lexical"):
        assert part in text
    # The answer of the selected entry is marked in the passage.
    marked = page.page.locator("mark").all_inner_texts()
    answer = page.text(".card.selected .quote >> nth=0")
    assert marked
    assert marked[0].strip(" .").lower() in answer.lower()
    page.press("l")
    assert page.page.get_attribute(".card.selected", "aria-label") == "Entry 2"
    assert page.page.evaluate("location.hash") == "#/q/1/p/0/e/1"
    # The prompt consists of the template, the entry and the passage.
    page.page.click("summary:has-text('Prompt')")
    page.page.wait_for_selector(".prompt:not(:empty)")
    prompt = page.text(".prompt")
    assert prompt.startswith("Can the question be answered based on the available context? choose one:")
    assert prompt.endswith(page.text(".text p"))
    page.press("a")
    assert page.page.locator("[aria-pressed=true]").count() == 1
    page.press("k", "u")
    page.page.wait_for_selector(".grid")


def test_bank_entries_must_be_new(demo: Path, tab: OpenTab) -> None:
    page = tab(demo / "review.html").go("#/q/1")
    page.page.click("text=Add an entry …")
    page.page.fill("#dialog textarea", "  when was the Hubble space telescope LAUNCHED ")
    page.page.click("#dialog .primary")
    assert page.page.locator("#dialog[open]").count() == 1
    assert "already" in page.page.eval_on_selector("#dialog textarea", "node => node.validationMessage")
    page.press("Escape")
    assert page.text("#status") == "no edits yet"


def test_leaving_without_local_storage_needs_a_confirmation(demo: Path, tab: OpenTab) -> None:
    """Some browsers have no localStorage for files from disk."""
    page = tab(demo / "review.html")
    page.page.add_init_script(
        "Object.defineProperty(window, 'localStorage',"
        " { get() { throw new DOMException('no', 'SecurityError'); } });"
    )
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    page.go("#/q/0/p/0/e/0")
    page.press("2")
    assert page.text("#status") == "1 rating: not saved, not kept"
    assert "not kept by this browser" in page.page.get_attribute("#status", "title")
    # The page asks before it is closed, because the work would be lost.
    asked: list[str] = []

    def leave(dialog: Any) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.page.on("dialog", leave)
    page.page.click("h1")
    page.page.close(run_before_unload=True)
    page.page.wait_for_event("close") if not page.page.is_closed() else None
    assert asked == ["beforeunload"]


def test_applied_bank_edits_do_not_reappear(demo: Path, browser: Any, tmp_path: Path) -> None:
    """A page of the changed bank in the same browser keeps ratings, but not the edits of the old bank."""
    context = browser.new_context(accept_downloads=True)
    page = Tab(context.new_page()).open(demo / "review.html").go("#/q/1")
    page.page.click("[aria-label='Edit entry 1']")
    page.page.fill("#dialog textarea", "In which year was the Hubble Space Telescope launched?")
    page.page.click("#dialog .primary")
    page.page.focus(".grid")
    page.press("4")
    edits = page.save(tmp_path, "ana")
    run("bank", "apply", demo / "bank.jsonl", edits, "-o", tmp_path / "better.jsonl")
    run("review", demo / "graded.jsonl.gz", "--bank", tmp_path / "better.jsonl", "--prompt", RATED,
        "-o", tmp_path / "better.html")  # fmt: skip
    better = Tab(context.new_page()).open(tmp_path / "better.html")
    assert better.text("#status") == "1 rating: saved"
    better.go("#/q/0/p/0/e/0").press("2")
    again = better.save(tmp_path)
    assert read_edits(again).bank == []
    # The page of the old bank still has them.
    page.page.reload()
    page.page.wait_for_selector("html[data-ready]")
    assert page.text("#status") == "2 ratings, 1 edit: saved"
    assert page.problems == better.problems == []
    context.close()


def test_queries_without_entries_and_odd_addresses(
    write_jsonl: Callable[[str, list[Any]], Path], tab: OpenTab, tmp_path: Path
) -> None:
    graded = write_jsonl("graded.jsonl", [
        ["q", [passage("p1", exam_grades=[rubric({"q/a": 4})])]], ["bare", [passage("p2", text="Read me.")]],
    ])  # fmt: skip
    for more in ((), ("--blind",)):
        run("review", graded, *more, "-o", tmp_path / "review.html")
        page = tab(tmp_path / "review.html").go("#/q/1")
        page.page.wait_for_selector(".grid tbody tr[data-row]")
        assert "Read me." in page.text(".selected-pair")
        page.press("j", "l", "4", "a", "x", "c", "Enter")
        page.page.wait_for_selector("article.text")
        assert "Read me." in page.text("main")
        page.press("l", "4", "a", "x")
        for address in ("#/q/0/p/-1/e/-1", "#/q/0/p/0.5/e/0.5", "#/q/0/p/x/e/x"):
            page.go(address)
            page.page.wait_for_selector(".card.selected")
            assert page.page.get_attribute(".card.selected", "aria-label") == "Entry 1"
            page.go("#/")
        assert page.text("#status") == "no edits yet"


def test_reviewers_who_share_a_browser_do_not_share_ratings(demo: Path, browser: Any, tmp_path: Path) -> None:
    for name in ("ana", "bo"):
        run("review", demo / "graded.jsonl.gz", "--bank", demo / "bank.jsonl", "--prompt", RATED,
            "--blind", "--reviewer", name, "-o", tmp_path / f"{name}.html")  # fmt: skip
    context = browser.new_context()
    ana, bo, again = (Tab(context.new_page()) for _ in range(3))
    ana.open(tmp_path / "ana.html").go("#/q/0/p/0/e/0").press("2")
    assert bo.open(tmp_path / "bo.html").text("#status") == "no edits yet"
    assert again.open(tmp_path / "ana.html").text("#status") == "1 rating: not saved"
    assert ana.problems == bo.problems == again.problems == []
    context.close()
