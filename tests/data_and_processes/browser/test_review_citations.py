"""Citations on the review page: label them, save, apply the labels, and evaluate them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.data_and_processes.conftest import Tab, run
from tests.phases.review.cited import NO, PARTIAL, answer_lines

OpenTab = Callable[..., Tab]


@pytest.fixture
def graded(tmp_path: Path) -> Path:
    path = tmp_path / "graded.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in answer_lines()), encoding="utf-8")
    return path


def open_part(tab: Tab) -> Tab:
    """The first part of the answer, found with the filter that the page starts with."""
    tab.go("#/q/0")
    tab.page.wait_for_selector(".grid")
    assert tab.page.locator(".grid tbody tr[data-row]").count() == 1
    tab.page.click(".grid tbody th a")
    tab.page.wait_for_selector(".citations")
    return tab


def test_citations_from_the_page_to_the_scores(graded: Path, tab: OpenTab, tmp_path: Path) -> None:
    run("review", graded, "--reviewer", "ana", "-o", tmp_path / "review.html")
    page = tab(tmp_path / "review.html")
    assert "Citations only, because the file has no ratings." in page.text("main")
    open_part(page)
    panel = page.text(".citations")
    for part in ("3 citations, 0 labelled", "bees dance", "judge (CitationSupport)", "bees sting"):
        assert part in panel
    assert "does not have the text" in page.text("[aria-label='Citation 3']")
    assert page.page.locator("[aria-label='Citation 3'] button").count() == 0

    # Label by keyboard: the focus stays on the button, and a second press removes the label.
    page.page.focus("[aria-label='Citation 1: partial support']")
    page.press("Space")
    assert page.page.get_attribute(":focus", "aria-label") == "Citation 1: partial support"
    assert page.page.get_attribute(":focus", "aria-pressed") == "true"
    page.press("Enter")
    assert page.page.get_attribute(":focus", "aria-pressed") == "false"
    assert page.text("#status") == "no edits yet"
    page.press("Enter")
    page.page.fill("[aria-label='Citation 1'] textarea", "only the dance")
    page.page.click("[aria-label='Citation 2: no support']")
    assert page.text("#status") == "2 labels: not saved"
    assert "3 citations, 2 labelled by you" in page.text(".citations summary")

    # The browser keeps the labels, and the list of the work removes them.
    page.page.reload()
    page.page.wait_for_selector(".citations")
    assert page.text("#status") == "2 labels: not saved"
    edits = page.save(tmp_path)
    page.go("#/work")
    page.page.wait_for_selector("caption:has-text('Labels of citations')")
    for part in (
        "0 ratings, 2 labels of citations",
        "partial support",
        "only the dance",
        "rag/q#1",
        "Saved.",
    ):
        assert part in page.text("main")
    assert "exam-pp apply graded.jsonl edits.json -o corrected" in page.text("main pre")
    page.page.click("table:has-text('Labels of citations') button >> nth=0")
    assert page.text("#status") == "1 label: not saved"
    page.page.set_input_files("#load-file", edits)
    page.page.wait_for_selector("#dialog[open]")
    page.page.click("#dialog .primary")
    page.page.wait_for_selector("#status:has-text('2 labels: saved')")

    place = {"query_id": "q", "passage_id": "rag/q#1"}
    assert json.loads(edits.read_text(encoding="utf-8"))["supports"] == [
        place | {"citation": "A", "support": PARTIAL, "comment": "only the dance"},
        place | {"citation": "B", "support": NO},
    ]

    output = tmp_path / "labelled.jsonl"
    run("apply", graded, edits, "-o", output)

    # A page of the result shows the labels of the reviewer beside those of the model.
    run("review", output, "-o", tmp_path / "second.html")
    second = open_part(tab(tmp_path / "second.html"))
    assert "human:ana (CitationSupport)" in second.text("[aria-label='Citation 1']")
    assert "only the dance" in second.text("[aria-label='Citation 1']")


def test_a_blind_page_hides_labels_and_systems_until_citations_are_labelled(
    graded: Path, tab: OpenTab, tmp_path: Path
) -> None:
    run("review", graded, "--blind", "--reviewer", "bo", "-o", tmp_path / "blind.html")
    page = open_part(tab(tmp_path / "blind.html"))
    assert "judge" not in page.text("main")
    assert "rag" not in page.text("main")
    page.page.click("[aria-label='Citation 1: full support']")
    assert "judge" in page.text("[aria-label='Citation 1']")
    assert "judge" not in page.text("[aria-label='Citation 2']")
    assert "rag" not in page.text(".heading")
    page.page.click("[aria-label='Citation 2: full support']")
    assert "rag/q#1" in page.text(".heading")
