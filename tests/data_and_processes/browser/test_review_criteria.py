"""Review page of criteria in a browser: mistakes to avoid, and boards with weights and groups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import exam_pp
from exam_pp.metrics.leaderboard import standings
from exam_pp.results import OVERALL_SYSTEM
from tests.conftest import passage, rubric
from tests.data_and_processes.conftest import RATED, Tab, means_on, run
from tests.phases.nugget_material import answer, bank_line

OpenTab = Callable[..., Tab]
WriteLines = Callable[[str, list[Any]], Path]
CRITERION = {"prompt_info": {"prompt_class": "Criterion"}}
LABELS = {"a": ("MHM", "OM"), "b": ("OMO", "OO"), "c": ("MMH", "MM")}
SHOW = "label:has-text('Show') select"


def criteria(query_id: str, *entries: dict[str, Any]) -> dict[str, Any]:
    line = bank_line(query_id, "?" * len(entries))
    line["items"] = [
        {key: value for key, value in item.items() if key != "importance"} | entry
        for item, entry in zip(line["items"], entries, strict=True)
    ]
    return line


WEIGHTS = [
    criteria("q1", {"weight": 4, "category": "accuracy"}, {"weight": 2},
             {"weight": -3, "category": "safety"}),
    criteria("q2", {"weight": -2}, {"weight": -1}),
]  # fmt: skip
AND_OR = [
    criteria("q1", {"group": "g", "combine": "all", "weight": 3},
             {"group": "g", "combine": "all", "weight": 3}, {}),
    criteria("q2", {"group": "g"}, {"group": "g"}),
]  # fmt: skip
ANSWERS = [
    criteria("q1", *[{"group": "g", "combine": "mean", "weight": 4}] * 2, {"group": "h", "combine": "mean"}),
    criteria("q2", *[{"group": "g", "combine": "mean", "group_text": "Who?"}] * 2),
]
MISTAKES = [criteria("q1", {"weight": 2}, *[{"group": "g", "weight": -3}] * 2), criteria("q2", {}, {})]


def review(write_jsonl: WriteLines, lines: list[Any], folder: Path, *options: object) -> tuple[Path, Path]:
    """The graded file and the bank, of which the folder has the page."""
    queries = []
    for number, query in enumerate(("q1", "q2")):
        answers = [answer(system, query, of[number], f"{system} says.") for system, of in LABELS.items()]
        for each in answers:
            each["exam_grades"] = [grades | CRITERION for grades in each["exam_grades"]]
        queries.append([query, answers])
    graded, bank = write_jsonl("graded.jsonl", queries), write_jsonl("bank.jsonl", lines)
    run("review", graded, "--bank", bank, "-o", folder / "review.html", *options)
    return graded, bank


@pytest.mark.parametrize(
    ("lines", "metric"),
    [
        (WEIGHTS, "Rubric"),
        (AND_OR, "Coverage"),
        (ANSWERS, "Supported"),
        (MISTAKES, "Rubric"),
        ([bank_line("q1", "vvo"), bank_line("q2", "vv")], "V_strict"),
    ],
    ids=["weights", "all and any", "mean", "a group of mistakes", "importance"],
)
def test_the_board_is_that_of_the_command(
    write_jsonl: WriteLines, tab: OpenTab, tmp_path: Path, lines: list[Any], metric: str
) -> None:
    graded, bank = review(write_jsonl, lines, tmp_path)
    page = tab(tmp_path / "review.html")
    assert means_on(page) == pytest.approx(means(graded, bank, metric), abs=1e-12)
    for address, key in (("#/q/0/p/0/e/2", "n"), ("#/q/0/p/1/e/0", "m"), ("#/q/1/p/1/e/1", "p")):
        page.go(address)
        page.page.wait_for_selector(".card.selected")
        page.press(key)
    page.go("#/")
    page.page.wait_for_selector(".leaderboard td:nth-child(4)")
    assert metric in page.text(".leaderboard")
    shown = means_on(page)
    edits = page.save(tmp_path, "ann")
    corrected = tmp_path / "corrected.jsonl.gz"
    run("apply", graded, edits, "--prompt", "criterion", "--bank", bank, "-o", corrected)
    assert shown == pytest.approx(means(corrected, bank, metric), abs=1e-12)
    assert shown != means(graded, bank, metric)


def means(graded: Path, bank: Path, metric: str) -> dict[str, float]:
    (evaluation,) = exam_pp.rubric_scores(graded, bank).values()
    return {row.system: row.mean for row in standings(evaluation.scores) if row.metric == metric}


def test_groups_count_once_in_rubric_cover(write_jsonl: WriteLines, tab: OpenTab, tmp_path: Path) -> None:
    worth: list[dict[str, Any]] = [*[{"group": "g", "combine": "all"}] * 2, {"weight": -0.5}, {}]
    items = [
        {"query_id": "q", "question_id": f"e{n}", "question_text": f"Question {n}?", **keys}
        for n, keys in enumerate(worth)
    ]
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "query_text": "a query", "items": items}])
    ratings = {"p1": (5, 0, 5, 0), "p2": (4, 4, 0, 0), "p3": (0, 0, 0, 5)}
    passages = []
    for rank, (key, of) in enumerate(ratings.items(), 1):
        rankings = [
            {"method": system, "paragraphId": key, "queryId": "q", "rank": rank, "score": 1.0}
            for system in ("s", "t")[: 1 if key == "p3" else 2]
        ]
        grades = rubric({f"e{n}": rating for n, rating in enumerate(of)})
        passages.append(
            passage(key, paragraph_data={"judgments": [], "rankings": rankings}, exam_grades=[grades])
        )
    graded = write_jsonl("graded.jsonl", [["q", passages]])
    run("review", graded, "--bank", bank, "-o", tmp_path / "review.html")
    page = tab(tmp_path / "review.html")
    assert means_on(page) == {"s": 0.75, "t": 0.25}
    page.go("#/q/0/p/1/e/1").press("0")
    page.page.wait_for_selector(".rate.chosen")
    page.go("#/")
    page.page.wait_for_selector(".leaderboard td:nth-child(4)")
    shown = means_on(page)
    edits, corrected = page.save(tmp_path, "ann"), tmp_path / "corrected.jsonl.gz"
    run("apply", graded, edits, "--prompt", RATED, "--bank", bank, "-o", corrected)
    scores = exam_pp.cover(corrected, bank).scores
    expected = {s.system: s.value for s in scores if s.metric.startswith("Cover")}
    assert shown == pytest.approx(expected, abs=1e-12) == {"s": 0.25, "t": -0.25}
    assert OVERALL_SYSTEM not in shown


@pytest.fixture
def page(write_jsonl: WriteLines, tab: OpenTab, tmp_path: Path) -> Tab:
    review(write_jsonl, WEIGHTS, tmp_path)
    return tab(tmp_path / "review.html")


def test_a_mistake_that_is_made_is_red_and_named(page: Tab, tmp_path: Path) -> None:
    overview = page.text("main")
    assert "Criteria met" in overview
    assert "Facts stated" not in overview
    cells = [page.text(f"#queries tbody [data-column={name}] >> nth=0") for name in ("covered", "mistakes")]
    assert cells == ["2 / 2", "1 / 1"]

    page.go("#/q/0")
    red = page.page.locator(".grid td.mistake")
    assert red.all_inner_texts() == ["1", "2 !"], "c's is made in part, a's wholly"
    labels = [cell.get_attribute("aria-label") for cell in red.all()]
    assert labels == ["Entry 3: rated partly_met: mistake partly made", "Entry 3: rated met: mistake made"]
    calm = page.page.locator(".grid td.shade-0[data-e='2']")
    assert calm.get_attribute("aria-label") == "Entry 3: rated not_met: avoided"
    chips = page.page.locator(".entries li:nth-child(3) .chips").inner_text()
    assert chips.split("\n") == ["to avoid", "weight -3", "safety", "1 / 3"]
    page.page.select_option(SHOW, label="with mistakes made")
    assert page.page.locator(".grid tbody tr[data-row]").count() == 1

    # The passage shows it, and a correction makes it calm.
    page.go("#/q/0/p/0/e/2")
    assert "met: mistake made" in page.text(".card.selected .card-head")
    assert "to avoid" in page.text(".card.selected .card-head")
    assert page.page.locator(".card.selected .rating.mistake").count() > 0
    page.press("n")
    page.page.wait_for_selector(".rate.chosen")
    assert "avoided" in page.text(".card.selected .own-rating")
    page.go("#/q/0")
    assert page.page.locator(".grid tbody tr[data-row]").count() == 0, "no mistake is left"
    page.page.select_option(SHOW, "all")
    assert page.text(".grid td.cell.own") == "2→0"
    assert page.page.locator(".grid td.cell.own.shade-0").count() == 1
    page.go("#/")
    page.page.wait_for_selector(".leaderboard td:nth-child(4)")
    assert page.text("#queries tbody [data-column=mistakes] >> nth=0") == "0 / 1"


def test_pages_without_mistakes_do_not_offer_them(demo: Path, tab: OpenTab) -> None:
    page = tab(demo / "review.html")
    assert page.page.locator("[data-column=mistakes]").count() == 0
    page.go("#/q/0")
    assert "mistakes" not in page.text(SHOW)


def test_two_answers_side_by_side_name_mistakes(page: Tab) -> None:
    page.go("#/q/0").page.click("text=Compare two answers")
    only_a = page.page.locator(".sides ul").first
    assert "mistake made" in only_a.inner_text()
    assert "to avoid" in only_a.inner_text()


def test_a_blind_page_shows_no_mistake_before_the_reviewer(
    write_jsonl: WriteLines, tab: OpenTab, tmp_path: Path
) -> None:
    review(write_jsonl, WEIGHTS, tmp_path, "--blind")
    page = tab(tmp_path / "review.html").go("#/q/0")
    assert page.page.locator(".grid td.mistake").count() == 0
    page.go("#/q/0/p/0/e/2").press("m")
    page.page.wait_for_selector(".rate.chosen")
    page.go("#/q/0")
    assert page.page.locator(".grid td.mistake.own").inner_text() == "2 ✓ !"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("view", ["#/", "#/q/0", "#/q/0/p/0/e/2"])
def test_mistakes_are_accessible(
    write_jsonl: WriteLines, tab: OpenTab, tmp_path: Path, scheme: str, view: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    review(write_jsonl, WEIGHTS, tmp_path)
    page = tab(tmp_path / "review.html", color_scheme=scheme).go("#/q/0/p/2/e/2").press("m")
    page.page.wait_for_selector(".rate.chosen")
    violations = axe.run(page.go(view).page).response["violations"]
    assert [(item["id"], item["nodes"][0]["html"][:120]) for item in violations] == []
