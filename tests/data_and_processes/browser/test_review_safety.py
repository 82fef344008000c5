"""Review page in a browser: hostile texts, blind reviews, large files, accessibility."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import passage, rubric
from tests.data_and_processes.conftest import EXTRACTED, RATED, Tab, run

OpenTab = Callable[..., Tab]
WriteLines = Callable[[str, list[Any]], Path]

HOSTILE = {
    "script": "<script>window.hacked = 1</script>",
    "end": "</script></style></textarea><script>window.hacked = 2</script>",
    "image": "<img src=https://example.org/x.png onerror='window.hacked = 3'>",
    "comment": "<!-- <script> ]]> --> ${window.hacked = 4} {{constructor}}",
    "address": "<a href='javascript:window.hacked = 5'>click</a><base href=https://example.org>",
    "emoji": "Ebb und Flut \U0001f30a\U0001f469\u200d\U0001f52c e\u0301",
    "rtl": "المد والجزر \u202eevil\u202c תרגום",
    "control": "a\u0000b\u0008c\u2028d",
    "__proto__": "constructor",
}


def judged(key: str, text: str, relevance: int, **more: Any) -> dict[str, Any]:
    judgment = {"paragraphId": key, "query": "q", "relevance": relevance, "titleQuery": "q"}
    ranking = {"method": "<b>sys</b>", "paragraphId": key, "queryId": "q", "rank": 1, "score": 1.0}
    return passage(key, text=text, paragraph_data={"judgments": [judgment], "rankings": [ranking]}, **more)


def bank_line(query_id: str, texts: dict[str, str]) -> dict[str, Any]:
    items = [{"query_id": query_id, "question_id": key, "question_text": text} for key, text in texts.items()]
    return {"query_id": query_id, "query_text": f"{HOSTILE['script']} {query_id}", "items": items}


@pytest.fixture
def hostile(write_jsonl: WriteLines, tmp_path: Path) -> Path:
    """A page in which every text tries to become markup or code."""
    entries = {f"q/{key}": f"{text} (entry)" for key, text in HOSTILE.items()}
    passages = [
        judged(key, text, 1, exam_grades=[
            rubric(dict.fromkeys(entries, 1), llm=HOSTILE["image"], answers=[[e, text] for e in entries]),
            rubric({}, llm=HOSTILE["image"], prompt_info={"prompt_class": EXTRACTED}, self_ratings=None,
                   answers=[[e, text] for e in entries]),
        ])
        for key, text in HOSTILE.items()
    ]  # fmt: skip
    text = "a million characters without end "
    passages.append(judged("large", text * (1_000_000 // len(text)), 0, exam_grades=[rubric({"q/end": 2})]))
    graded = write_jsonl("<script>.jsonl", [["q", passages]])
    bank = write_jsonl("bank.jsonl", [bank_line("q", entries)])
    run("review", graded, "--bank", bank, "--prompt", RATED, "-o", tmp_path / "review.html",
        "--reviewer", HOSTILE["end"])  # fmt: skip
    return tmp_path / "review.html"


def test_hostile_texts_stay_texts(hostile: Path, tab: OpenTab) -> None:
    page = tab(hostile)
    scripts = page.page.locator("script:not([type])").count()
    assert HOSTILE["script"] in page.text("main")
    page.go("#/q/0")
    page.page.wait_for_selector(".grid")
    page.page.select_option("label:has-text('Sort by') select", "order")
    for row, text in enumerate(HOSTILE.values()):
        page.go(f"#/q/0/p/{row}/e/{row}")
        page.page.wait_for_selector(".card.selected")
        assert page.page.evaluate("document.querySelector('.text p').textContent") == text
        assert (
            page.page.evaluate("document.querySelector('.card.selected [dir]').textContent")
            == f"{text} (entry)"
        )
        page.page.click("summary")
        page.page.wait_for_selector(".prompt:not(:empty)")
        assert text in page.page.evaluate("document.querySelector('.prompt').textContent")
        page.press("1", "c")
        page.page.keyboard.insert_text(text.replace("\0", ""))
        page.press("Escape")
    page.go("#/work")
    assert page.page.evaluate("window.hacked") is None
    assert page.page.locator("main img, main script, main style, main iframe, base").count() == 0
    assert page.page.locator("script:not([type])").count() == scripts


def test_a_large_passage_is_shown_in_parts(hostile: Path, tab: OpenTab) -> None:
    page = tab(hostile).go(f"#/q/0/p/{len(HOSTILE)}/e/1")
    page.page.wait_for_selector(".card.selected")
    length = "document.querySelector('.text p').textContent.length"
    assert page.page.evaluate(length) == 50_000
    page.page.click("text=Show all")
    assert page.page.evaluate(length) > 999_000


def test_no_connection_is_possible(demo: Path, tab: OpenTab, browser: Any) -> None:
    """The content security policy blocks connections even if a script tries to open one."""
    context = browser.new_context()
    page = Tab(context.new_page()).open(demo / "review.html")
    tried = page.page.evaluate(
        """async () => {
          const events = [];
          const refused = new Promise((resolve) => {
            addEventListener("securitypolicyviolation", (event) => {
              events.push(event.effectiveDirective);
              if (new Set(events.filter((name) => name.endsWith("-src"))).size === 3) resolve();
            });
          });
          await fetch("https://example.org/").catch(() => {});
          new Image().src = "https://example.org/x.png";
          const frame = document.createElement("iframe");
          frame.src = "https://example.org/";
          document.body.append(frame);
          try { document.body.innerHTML = "<b>x</b>"; events.push("worked"); }
          catch { events.push("refused"); }
          await refused;
          return events;
        }"""
    )
    assert {"connect-src", "img-src", "frame-src", "refused"} <= set(tried)
    assert "worked" not in tried
    # The policy refused the connections, not the network.
    assert {reason for url, reason in page.failures if not url.startswith("file:")} <= {"csp"}
    assert all(url.startswith("file:") for url in page.answered)
    context.close()


# Blind reviews

SECRET = {"model": "secret-model", "system": "secret-system", "reply": "secret-reply", "id": "secret-run/q#3",
          "answer": "hidden answer", "comment": "secret-comment", "other": "human:secret"}  # fmt: skip


@pytest.fixture
def blind(write_jsonl: WriteLines, tmp_path: Path) -> Path:
    grades = [
        rubric({"q/a": 5, "q/b": 4}, llm=SECRET["model"], answers=[["q/a", SECRET["reply"]], ["q/b", "4"]]),
        rubric({}, llm=SECRET["model"], prompt_info={"prompt_class": EXTRACTED}, self_ratings=None,
               answers=[["q/a", SECRET["answer"]]]),
        rubric({"q/a": 3}, llm=SECRET["other"], comments={"q/a": SECRET["comment"]}),
    ]  # fmt: skip
    one = passage(SECRET["id"], text="Here stands the hidden answer, in the open.", exam_grades=grades)
    one["paragraph_data"] = {
        "judgments": [{"paragraphId": SECRET["id"], "query": "q", "relevance": 3, "titleQuery": "q"}],
        "rankings": [
            {"method": SECRET["system"], "paragraphId": SECRET["id"], "queryId": "q", "rank": 1, "score": 1.0}
        ],
    }
    other = passage("plain", exam_grades=[rubric({"q/a": 2, "q/b": 2}, llm=SECRET["model"])])
    graded = write_jsonl("graded.jsonl", [["q", [one, other]]])
    bank = write_jsonl("bank.jsonl", [bank_line("q", {"q/a": "What is hidden?", "q/b": "Where?"})])
    run("review", graded, "--bank", bank, "--prompt", RATED, "--blind", "-o", tmp_path / "blind.html")
    return tmp_path / "blind.html"


def test_a_blind_review_hides_grades_until_the_reviewer_has_rated(blind: Path, tab: OpenTab) -> None:
    page = tab(blind)

    def shown() -> str:
        """The document with attributes and titles, without the packed data."""
        return str(page.page.evaluate(
            "() => { const copy = document.documentElement.cloneNode(true);"
            " copy.querySelectorAll('script').forEach((node) => node.remove());"
            " return copy.outerHTML + document.title + location.href; }"
        ))  # fmt: skip

    def hidden() -> set[str]:
        return {name for name, value in SECRET.items() if value not in shown() or name == "answer"}

    everything = set(SECRET)
    assert hidden() == everything, "on the overview"
    page.go("#/q/0")
    page.page.wait_for_selector(".grid td.cell")
    assert page.page.locator(".grid td[class*=shade]").count() == 0
    assert hidden() == everything, "in the grid"
    assert page.page.locator("label:has-text('System'), label:has-text('Sort by')").count() == 0
    page.page.fill("[data-search]", "secret-run")
    assert "0 of 2 passages" in page.text("main"), "ids are not searched"
    page.page.fill("[data-search]", "hidden answer")
    place = 0 if "Passage 1" in page.text(".grid") else 1
    page.go(f"#/q/0/p/{place}/e/0")
    page.page.wait_for_selector(".card.selected")
    assert hidden() == everything, "on the passage's page"
    assert page.page.locator("mark").count() == 0
    page.press("a")
    assert page.page.locator("[aria-pressed=true]").count() == 0, "there is nothing to agree with yet"
    page.go(f"#/q/0/p/{1 - place}/e/0").press("1")
    page.go("#/work")
    page.page.wait_for_selector("table.list")
    assert hidden() == everything, "in the list of ratings"
    page.go(f"#/q/0/p/{place}/e/0")
    page.page.wait_for_selector(".card.selected")
    # After one rating, the grades of the pair are shown, but not the system and the id.
    page.press("4")
    assert {"model", "reply", "comment", "other"}.isdisjoint(hidden())
    assert page.text("mark") == SECRET["answer"]
    assert {"system", "id"} <= hidden()
    # The grades of the other entry are still hidden.
    page.press("l")
    assert {"reply", "comment", "system", "id"} <= hidden()
    page.press("3")
    assert {"system", "id"}.isdisjoint(hidden())
    assert "judged 3" in page.text("main")
    page.press("x")
    assert {"system", "id"} <= hidden(), "without the rating it is hidden again"


def test_nugget_assignment_from_scratch(write_jsonl: WriteLines, tmp_path: Path, tab: OpenTab) -> None:
    graded = write_jsonl("answers.jsonl", [["q", [passage("run1/q"), passage("run2/q")]]])
    items = [{"query_id": "q", "nugget_id": f"q/{key}", "nugget_text": f"fact {key}"} for key in "ab"]
    chosen = ("--prompt", "NuggetAssignment")
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "query_text": "why?", "items": items}])
    run("review", graded, "--bank", bank, *chosen, "--blind", "--reviewer", "nist", "-o", tmp_path / "r.html")
    page = tab(tmp_path / "r.html").go("#/q/0")
    page.page.wait_for_selector(".grid")
    page.press("s", "l", "p", "j", "n", "h", "s")
    page.save(tmp_path)
    run("apply", graded, tmp_path / "edits.json", *chosen, "--bank", bank, "-o", tmp_path / "out.jsonl")
    (line,) = [json.loads(text) for text in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    assigned = [
        {item["nugget_id"]: item["assignment"] for item in one["exam_grades"][0]["assignments"]}
        for one in line[1]
    ]
    assert {"q/a": "support", "q/b": "partial_support"} in assigned
    assert {"q/a": "support", "q/b": "not_support"} in assigned
    assert {one["exam_grades"][0]["llm"] for one in line[1]} == {"human:nist"}


# Size


def test_fifty_queries_of_two_hundred_passages(tmp_path: Path, tab: OpenTab) -> None:
    """The document contains only the visible rows."""
    entries = [f"e{e}" for e in range(10)]

    def grades(q: int, p: int) -> dict[str, int]:
        return {f"q{q}/{entry}": (p * 7 + i * 3 + q) % 6 for i, entry in enumerate(entries)}

    with (tmp_path / "graded.jsonl").open("w", encoding="utf-8") as graded:
        for q in range(50):
            passages = [
                passage(
                    f"{q}-{p}", text=f"Passage {p} of query {q}. " * 20, exam_grades=[rubric(grades(q, p))]
                )
                for p in range(200)
            ]
            graded.write(json.dumps([f"q{q}", passages]) + "\n")
    run("review", tmp_path / "graded.jsonl", "-o", tmp_path / "review.html")
    page = tab(tmp_path / "review.html")
    assert page.page.locator("#queries tbody tr").count() == 50
    page.go("#/q/49")
    page.page.wait_for_selector(".grid td.cell")
    assert page.page.locator(".grid tbody tr[data-row]").count() < 80
    page.page.focus(".grid")
    page.press(*["j"] * 199)
    assert "49-" in page.text(".selected-pair")
    assert page.page.evaluate("document.querySelector('.grid tr.selected').dataset.row") == "199"
    # Printing draws all rows, also while the table scrolls, and until it ends.
    page.page.evaluate(
        """() => new Promise((done) => {
            const table = document.querySelector(".grid");
            table.addEventListener("scroll", done, { once: true });
            table.scrollTop = 0;
            window.dispatchEvent(new Event("beforeprint"));
        })"""
    )
    assert page.page.locator(".grid tbody tr[data-row]").count() == 200
    page.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert page.page.locator(".grid tbody tr[data-row]").count() < 80


# Accessibility

VIEWS = ("#/", "#/q/1", "#/q/1/p/0/e/1", "#/work")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", VIEWS)
def test_accessibility(demo: Path, tab: OpenTab, scheme: str, view: str) -> None:
    """axe-core reports no violation of WCAG 2.1 AA (labels, contrast, names, keyboard) or good practice."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = tab(demo / "review.html", color_scheme=scheme).go("#/q/1")
    page.page.wait_for_selector(".grid td.cell")
    page.press("3", "j", "5")
    page.go(view)
    violations = axe.run(page.page).response["violations"]
    assert [(item["id"], item["nodes"][0]["html"][:120]) for item in violations] == []


def test_dialogs_are_accessible(demo: Path, tab: OpenTab) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = tab(demo / "review.html").go("#/q/1")
    for opener in ("[aria-label='Edit entry 1']", "text=Add an entry …", "[data-focus=keys]"):
        page.page.click(opener)
        assert [item["id"] for item in axe.run(page.page).response["violations"]] == []
        page.press("Escape")
        assert page.page.locator("#dialog[open]").count() == 0


def test_everything_by_keyboard(demo: Path, tab: OpenTab) -> None:
    """Tab reaches every control, the focus is visible, and dialogs restore it."""
    page = tab(demo / "review.html").go("#/q/1")
    page.page.wait_for_selector(".grid td.cell")
    reached = set()
    for _ in range(120):
        page.press("Tab")
        reached.add(page.page.evaluate(
            "() => { const node = document.activeElement;"
            " if (node === document.body) return 'the browser';"
            " const style = getComputedStyle(node);"
            " return (node.getAttribute('aria-label') ?? node.textContent.trim().slice(0, 30)) +"
            " (style.outlineStyle !== 'none' || style.boxShadow !== 'none' ? '' : ' (invisible)'); }"
        ))  # fmt: skip
    for name in ("Save edits", "Load edits", "Keys and settings", "Edit entry 1", "Passages and ratings"):
        assert name in reached
    assert not [name for name in reached if name.endswith("(invisible)")]
    page.page.focus("[aria-label='Edit entry 1']")
    page.press("Enter")
    page.page.wait_for_selector("#dialog[open]")
    page.press("Escape")
    assert page.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Edit entry 1"
    # With the keys switched off, letters do nothing.
    page.press("?")
    page.page.uncheck("text=Enable keys without Ctrl")
    page.press("Escape", "j", "4")
    assert page.text("#status") == "no edits yet"


def test_a_dialog_after_another_keeps_its_content(demo: Path, tab: OpenTab) -> None:
    """The event that a dialog has closed comes late: a fast reviewer has opened the next one by then."""
    page = tab(demo / "review.html").go("#/q/1")
    page.page.click("[aria-label='Edit entry 1']")
    page.page.evaluate(
        """() => {
            const dialog = document.getElementById("dialog");
            // Listeners are called in order, so the page has heard of it, too.
            const closed = new Promise((resolve) => dialog.addEventListener("close", resolve));
            dialog.close();
            document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "?", bubbles: true }));
            return closed.then(() => null);
        }"""
    )
    assert page.text("#dialog-title") == "Keys"
    page.press("Escape")
    assert page.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Edit entry 1"
    page.page.click("[aria-label='Edit entry 1']")
    assert page.text("#dialog-title") == "Entry 1"
