"""Review page of whole answers in a browser: the leaderboard of nuggets, and two answers side by side."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.evaluation.nugget_leaderboard import read_conditions
from tests.data_and_processes.conftest import Tab, means_on, run

OpenTab = Callable[..., Tab]
FACTS = {
    "q1": [
        ("Apollo landed in 1969", "vital"),
        ("Armstrong walked first", "vital"),
        ("Collins stayed", "okay"),
    ],
    "q2": [("Tides follow the Moon", "vital"), ("The Sun adds to tides", "okay")],
}
ANSWERS = {
    "v1": {"q1": "Apollo landed in 1969.", "q2": "Tides follow the Moon."},
    "v2": {"q1": "Apollo landed in 1969. Armstrong walked first.", "q2": "The wind."},
}


def test_answers_are_no_passages(
    write_jsonl: Callable[[str, list[Any]], Path], tab: OpenTab, tmp_path: Path
) -> None:
    bank = write_jsonl("bank.jsonl", [
        {"query_id": query, "query_text": f"text of {query}", "items": [
            {"query_id": query, "nugget_id": f"{query}/{number}", "nugget_text": text, "importance": value}
            for number, (text, value) in enumerate(facts)]}
        for query, facts in FACTS.items()
    ])  # fmt: skip
    files = [
        write_jsonl(f"{system}.jsonl", [{"system": system, "query_id": q, "text": t} for q, t in of.items()])
        for system, of in ANSWERS.items()
    ]
    run("run", "--answers", *files, "--bank", bank, "-o", tmp_path / "moon")
    page = tab(tmp_path / "moon" / "report-nuggets" / "review.html")
    assert page.page.title() == "Review of moon: v1 and v2"
    overview = page.text("body")
    assert "Facts stated: V_strict" in overview
    assert "2 queries, 4 answers" in overview
    assert "assage" not in overview
    assert "@" not in overview

    # Two answers: what each has and the other lacks.
    page.go("#/q/0")
    page.page.click("text=Compare two answers")
    headings = page.page.locator(".sides h2").all_inner_texts()
    assert headings == ["Only v2 (1)", "Both (1)", "Neither (1)"]
    page.page.focus(".grid td[aria-selected=true]")
    page.press("n")  # v2 does not state the first fact
    headings = page.page.locator(".sides h2").all_inner_texts()
    assert headings == ["Only v1 (1)", "Only v2 (1)", "Neither (1)"]
    page.go("#/q/1/p/1/e/0").press("s")
    page.page.wait_for_selector(".rate.chosen")
    assert "rank" not in page.text("main")

    # The leaderboard is that of the corrected file.
    page.go("#/")
    page.page.wait_for_selector(".leaderboard td:nth-child(4)")
    shown = means_on(page)
    edits = page.save(tmp_path, "ann")
    corrected = tmp_path / "corrected.jsonl.gz"
    run("apply", tmp_path / "moon" / "assigned.jsonl.gz", edits, "--bank", bank, "-o", corrected)
    (condition,) = read_conditions([corrected], [bank], grade_filter=GradeFilter())
    assert shown == pytest.approx(condition.means("V_strict"), abs=1e-12)
    assert shown == {"v1": 0.75, "v2": 0.75}
