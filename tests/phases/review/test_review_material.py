"""Data of the review page: selected grades, scale, and what a blind review hides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.metrics.fair_sample import sample_order
from exam_pp.phases.review.rating_scale import rating_scale
from exam_pp.phases.review.review_material import ReviewOptions, review_material
from exam_pp.prompts import PROMPTS
from exam_pp.reports.review.page import render_page
from exam_pp.store.edits import file_sha256
from tests.conftest import PASSAGES, passage, rubric
from tests.review_pages import blocks, ratings

WriteLines = Callable[[str, list[Any]], Path]
EXTRACTION = {"prompt_class": "QuestionCompleteConciseUnanswerablePromptWithChoices"}


def review(
    graded: Path, bank: Path | None = None, criteria: GradeFilter | None = None, **options: Any
) -> str:
    material = review_material(graded, criteria or GradeFilter(), bank=bank, options=ReviewOptions(**options))
    return render_page(material.head, material.tables)


def test_head_and_queries(tiny_passages: Path, tiny_bank: Path) -> None:
    page = review(tiny_passages, tiny_bank, reviewer="ana")
    head = blocks(page)["head"]
    assert head["graded"] == {"name": "graded.jsonl", "sha256": file_sha256(tiny_passages)}
    assert head["bank"] == {"name": "bank.jsonl", "sha256": file_sha256(tiny_bank)}
    assert (head["graders"], head["systems"], head["reviewer"]) == (["google/flan-t5-large"], ["bm25"], "ana")
    assert [query["id"] for query in head["queries"]] == ["q1", "007"]
    assert head["queries"][0]["entries"][1] == {
        "id": "q1/b",
        "text": "Who wrote the text?",
        "kind": "question",
    }
    assert (head["title"], head["answers"]) == ("bm25", False)
    ids = [entry["id"] for entry in head["queries"][0]["entries"]]
    assert [ids[e] for e in head["queries"][0]["sample"]] == sample_order("q1", ids)
    counts = head["queries"][0]["graders"][0]
    assert counts == {
        "ratings": [1, 1, 0, 0, 1, 1],
        "ungraded": 0,
        "covered": 2,
        "mistakes": 0,
        "judged": [[3, [0, 0, 0, 0, 0, 1]]],
    }
    assert ratings(page) == {"p1": [5, 0], "p2": [1, 4]}
    assert ratings(page, 1) == {"p3": [2]}
    (leaderboard,) = head["leaderboards"]
    assert (leaderboard["metric"], leaderboard["rows"][0][:2]) == ("Cover(min_grade=4)@1", ["bm25", 0.25])
    chunk = blocks(page)["query-0"]
    assert (chunk["judgments"], chunk["ranks"]) == ([[3], []], [[0, 1], []])


def test_models_come_before_reviewers(write_jsonl: WriteLines, tiny_bank: Path) -> None:
    sets = [
        rubric({"q1/a": 1}, llm="human:bo"),
        rubric({"q1/a": 2}, llm="one"),
        rubric({"q1/a": 3}, llm="two"),
    ]
    answers = rubric({}, llm="two", prompt_info=EXTRACTION, self_ratings=None, answers=[["q1/a", "Text of"]])
    ranking = {"method": "bm25", "paragraphId": "p", "queryId": "q1", "rank": 1, "score": 1.0}
    ranked = {"judgments": [], "rankings": [ranking]}
    graded = write_jsonl(
        "g.jsonl", [["q1", [passage("p", exam_grades=[*sets, answers], paragraph_data=ranked)]]]
    )
    page = review(graded, tiny_bank)
    assert [item["grader"] for item in blocks(page)["head"]["leaderboards"]] == ["one", "two"]
    assert blocks(page)["head"]["graders"] == ["one", "two", "human:bo"]
    assert [ratings(page, grader=g)["p"] for g in range(3)] == [[2, None], [3, None], [1, None]]
    chunk = blocks(page)["query-0"]
    assert chunk["strings"][chunk["grades"][1]["answer"][0]] == "Text of"
    assert chunk["grades"][1]["spans"][0] == [0, 7]
    assert blocks(review(graded, tiny_bank, GradeFilter(model="two")))["head"]["graders"] == ["two"]
    with pytest.raises(SelectionError, match=r"'Other' \(--grades answers\).* QuestionComp"):
        review(graded, tiny_bank, answers_class="Other")


def test_several_prompts_are_refused_and_listed(write_jsonl: WriteLines) -> None:
    other = rubric({"q/a": 1}, prompt_info={"prompt_class": "Mine"})
    graded = write_jsonl("g.jsonl", [["q", [passage(exam_grades=[rubric({"q/a": 5}), other])]]])
    with pytest.raises(SelectionError, match=r"g\.jsonl.* 2 .*--prompt Mine"):
        review(graded)
    head = blocks(review(graded, criteria=GradeFilter(prompt_class="Mine")))["head"]
    assert [step[:2] for step in head["scale"]] == [[0, "0"], [1, "1"]]
    assert head["prompt"]["pieces"] is None
    assert "--prompt-file" in head["prompt"]["missing"]
    assert head["bank"] is None
    assert head["queries"][0]["entries"] == [{"id": "q/a", "text": "q/a"}]


def test_blind_pages_have_no_leaderboard_no_counts_and_a_shuffled_order(
    write_jsonl: WriteLines, tiny_bank: Path
) -> None:
    passages = [passage(f"p{i:02}", exam_grades=[rubric({"q1/a": 5})]) for i in range(30)]
    graded = write_jsonl("g.jsonl", [["q1", passages]])
    page = review(graded, tiny_bank, blind=True)
    head = blocks(page)["head"]
    assert (head["blind"], head["leaderboards"], head["queries"][0]["graders"]) == (True, [], [])
    order = blocks(page)["query-0"]["ids"]
    assert order != sorted(order)
    assert sorted(order) == [f"p{i:02}" for i in range(30)]


def test_from_scratch(write_jsonl: WriteLines) -> None:
    """Manual assignment: answers without grades, a bank, and the scale of the named prompt."""
    graded = write_jsonl("g.jsonl", [["q", [passage("run/q")]]])
    item = {"query_id": "q", "nugget_id": "q/n", "nugget_text": "a fact"}
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "query_text": "why?", "items": [item]}])
    page = review(graded, bank, GradeFilter(prompt_class="NuggetAssignment"), blind=True)
    head = blocks(page)["head"]
    assert [step[:3] for step in head["scale"]] == [
        [0, "not_support", "n"], [1, "partial_support", "p"], [2, "support", "s"],
    ]  # fmt: skip
    assert (head["graders"], head["queries"][0]["entries"][0]["text"]) == ([], "a fact")
    with pytest.raises(SelectionError, match=r"g\.jsonl.*--prompt .*--bank"):
        review(graded, bank, GradeFilter(prompt_class="NoSuchPrompt"))


def test_assignments_of_models_are_reviewed(write_jsonl: WriteLines) -> None:
    grades = rubric(
        {}, prompt_info={"prompt_class": "NuggetAssignment"}, prompt_type="nugget", correctAnswered=["q/n"],
        answers=[["q/n", "partial_support"]],
        self_ratings=[{"nugget_id": "q/n", "self_rating": 1}],
        assignments=[{"nugget_id": "q/n", "assignment": "partial_support"}],
    )  # fmt: skip
    graded = write_jsonl("g.jsonl", [["q", [passage("run/q", exam_grades=[grades])]]])
    page = review(graded)
    head = blocks(page)["head"]
    assert ratings(page) == {"run/q": [1]}
    assert [step[1] for step in head["scale"]] == ["not_support", "partial_support", "support"]
    assert head["min_grade"] == 2
    assert "several entries at once" in head["prompt"]["missing"]


def test_direct_grades(write_jsonl: WriteLines, tiny_bank: Path) -> None:
    grade = {
        "correctAnswered": True, "answer": "Yes, it is.", "llm": "m", "llm_options": {},
        "prompt_info": {"prompt_class": "FagB"}, "prompt_type": "direct_grading",
    }  # fmt: skip
    unread = {**grade, "answer": "Perhaps.", "llm_response_error": {"failure_reason": "neither yes nor no"}}
    graded = write_jsonl("g.jsonl", [["q1", [passage("p", grades=[grade]), passage("u", grades=[unread])]]])
    page = review(graded, tiny_bank, GradeFilter(prompt_class="FagB"))
    head = blocks(page)["head"]
    assert [entry["id"] for entry in head["queries"][0]["entries"]] == ["direct"]
    assert [step[:3] for step in head["scale"]] == [[0, "No", "n"], [1, "Yes", "y"]]
    assert ratings(page) == {"p": [1], "u": [None]}
    assert blocks(page)["query-0"]["strings"] == ["Yes, it is.", "neither yes nor no"]


def test_parts_of_a_file(tiny_passages: Path, write_jsonl: WriteLines, tiny_bank: Path) -> None:
    assert [query["id"] for query in blocks(review(tiny_passages, queries=["007"]))["head"]["queries"]] == [
        "007"
    ]
    with pytest.raises(SelectionError, match="'q9'"):
        review(tiny_passages, queries=["q9"])
    page = review(tiny_passages, limit=1)
    assert ratings(page) == {"p1": [5, 0]}
    assert "1 passage beyond the first 1" in blocks(page)["head"]["notes"][0]
    more = write_jsonl("more.jsonl", [*PASSAGES, ["q7", [passage("p", exam_grades=[rubric({"q7/a": 1})])]]])
    assert blocks(review(more, tiny_bank))["head"]["notes"] == [
        "Skipped 1 query (q7) of the file: not in the bank."
    ]
    twice = write_jsonl("twice.jsonl", [PASSAGES[0], PASSAGES[0]])
    assert ratings(review(twice)) == {"p1": [5, 0], "p2": [1, 4]}


def test_a_rating_too_high_for_a_scale() -> None:
    """The page would need a button per step, for example for a timestamp in the rating field."""
    assert len(rating_scale(None, 100)) == 101
    with pytest.raises(SelectionError, match=r"1700000000.* 1000"):
        rating_scale(None, 1_700_000_000)


def test_scales() -> None:
    steps = rating_scale(PROMPTS.get("NuggetSelfRatedPrompt"))
    assert [(step.rating, step.label, step.key) for step in steps] == [(i, str(i), "") for i in range(6)]
    assert steps[4].meaning == "Sufficient coverage, minor omissions."
    assert [step.meaning[:15] for step in rating_scale(PROMPTS.get("Thomas"))] == [
        "not relevant, s", "relevant, may b", "highly relevant",
    ]  # fmt: skip
    assert [step.label for step in rating_scale(PROMPTS.get("QuestionCompleteConcisePrompt"))] == [
        "wrong",
        "right",
    ]
    # Ambiguous letters and shortcuts of the page are not keys; digits rate instead.
    prompt = replace(PROMPTS.get("FagB"), choices=("hardly", "likely"))
    assert [step.key for step in rating_scale(prompt)] == ["", ""]
    assert [step.key for step in rating_scale(replace(prompt, choices=("poor", "perfect", "fine")))] == [
        "",
        "",
        "f",
    ]
    assert [step.rating for step in rating_scale(None, 3)] == [0, 1, 2, 3]
