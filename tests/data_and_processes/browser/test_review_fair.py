"""The fair sample of the review page in a browser: its queue, its looks, and ratings that belong to texts."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.metrics.fair_sample import sample_order
from exam_pp.metrics.leaderboard import standings
from exam_pp.phases.evaluation.cover import cover
from tests.conftest import passage, rubric
from tests.data_and_processes.conftest import Tab, means_on, run

OpenTab = Callable[..., Tab]
ENTRIES = {query: [f"{query}/{name}" for name in "xyz"] for query in ("q1", "q2")}
ORDER = {query: sample_order(query, entries) for query, entries in ENTRIES.items()}


def of(query: str, name: str, text: str, grade: int, **ranks: int) -> dict[str, Any]:
    """A passage, whose grade is that of all entries, with its rank for each system."""
    rankings = [
        {"method": system, "paragraphId": name, "queryId": query, "rank": rank, "score": 1 / rank}
        for system, rank in ranks.items()
    ]
    grades = rubric(dict.fromkeys(ENTRIES[query], grade), llm="judge")
    data = {"judgments": [], "rankings": rankings}
    return passage(name, text=text, exam_grades=[grades], paragraph_data=data)


@pytest.fixture
def page(write_jsonl: Callable[[str, list[Any]], Path], tab: OpenTab, tmp_path: Path) -> Tab:
    """The page of two systems: in ``q1`` they share a passage and have one of the same text."""
    first = [
        of("q1", "s", "shared", 1, A=1, B=2),
        of("q1", "a", "the same", 3, A=2),
        of("q1", "b", "the  same", 3, B=1),
    ]
    second = [
        of("q2", "t", "both", 2, A=2, B=1),
        of("q2", "c", "of A", 0, A=1),
        of("q2", "d", "of B", 3, B=2),
    ]
    graded = write_jsonl("graded.jsonl", [["q1", first], ["q2", second]])
    bank = write_jsonl("bank.jsonl", [
        {"query_id": query, "query_text": f"text of {query}", "items": [
            {"query_id": query, "question_id": entry, "question_text": f"{entry}?"} for entry in entries]}
        for query, entries in ENTRIES.items()
    ])  # fmt: skip
    run("review", graded, "--bank", bank, "-o", tmp_path / "review.html")
    return tab(tmp_path / "review.html")


def shown(page: Tab) -> tuple[str, str]:
    page.page.wait_for_selector(".card.selected")
    return " ".join(page.text("article.text").split()), page.text(
        ".card-head span:nth-child(2)"
    ).removesuffix("?")


def test_the_first_queue_is_fair(page: Tab, tmp_path: Path) -> None:
    """By default a person rates entries in the order of the sample, until each system's are decided."""
    assert "look 1 of 3, 0 of 2 decided, at most 5 ratings to go" in page.text(".queue")
    assert [row.inner_text() for row in page.page.locator("td[data-column=covered]").all()] == ["0 / 3"] * 2
    page.page.click("text=Start rating")
    asked = []
    # b covers the entry for both systems, because a has its text; d for B only, t for A.
    for key in "554":
        asked.append(shown(page))
        page.press(key)
        page.page.wait_for_selector(".rate.chosen")
        page.press("j")
        page.page.wait_for_selector("#main:not([aria-busy])")
    assert asked == [("the same", ORDER["q1"][0]), ("of B", ORDER["q2"][0]), ("both", ORDER["q2"][0])]
    assert "look 2 of 3, 2 of 4 decided, at most 5 ratings to go" in page.text(".queue")
    assert "Look 1 is complete" in page.text(".queue")
    assert shown(page) == ("the same", ORDER["q1"][1])

    # Without a covering passage, all texts are rated; the way back leads through rated pairs.
    page.press("0", "j")
    assert shown(page) == ("shared", ORDER["q1"][1])
    page.press("k")
    assert shown(page) == ("the same", ORDER["q1"][1])
    page.press("j", "3", "j")
    assert shown(page) == ("of B", ORDER["q2"][1])
    page.go(f"#/q/0/p/1/e/{ENTRIES['q1'].index(ORDER['q1'][1])}")
    assert "By passage: not a fair sample" in page.text(".queue")
    assert page.page.get_attribute("[data-focus=rate-0]", "aria-pressed") == "true", "a has the text of b"
    page.go("#/")
    counts = page.page.locator("td[data-column=covered]").all_inner_texts()
    assert counts == ["1 / 3", "1 / 3"]
    board = means_on(page)
    assert "4: 1, 5: 3" in str(page.page.get_attribute("svg.plot", "aria-label"))

    edits = page.save(tmp_path, "ann")
    saved = json.loads(edits.read_text(encoding="utf-8"))["ratings"]
    assert [(rating["passage_id"], rating["id"], rating["rating"]) for rating in saved] == [
        ("b", ORDER["q1"][0], 5), ("d", ORDER["q2"][0], 5), ("t", ORDER["q2"][0], 4),
        ("b", ORDER["q1"][1], 0), ("s", ORDER["q1"][1], 3),
    ]  # fmt: skip
    assert len({rating["key"] for rating in saved}) == 5

    # The page counts what the scores count.
    bank, corrected = tmp_path / "bank.jsonl", tmp_path / "corrected.jsonl"
    run("apply", tmp_path / "graded.jsonl", edits, "--bank", bank, "-o", corrected)
    rows = standings(cover(corrected, bank).scores)
    assert board == {row.system: row.mean for row in rows if row.metric.startswith("Cover")}


def test_agreement_moves_no_score(demo: Path, tab: OpenTab) -> None:
    """Sums of equal scores in another order are no change."""
    page = tab(demo / "review.html").go("#/q/0").press("a", "j", "a", "j", "a").go("#/")
    assert "3 ratings" in page.text("#status")
    assert "↑" not in page.text("#lead") + page.text(".leaderboard")
    assert "↓" not in page.text("#lead") + page.text(".leaderboard")
