"""Direct grading: a label for every passage, from the text of the query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from exam_pp.banks import TestBank
from exam_pp.data_model import DirectGrade, QueryPassages
from exam_pp.llm.fake import FakeLLM
from exam_pp.phases.grading.grade import GradeOptions, GradeSummary, grade
from exam_pp.phases.grading.scheduler import Answerer
from exam_pp.prompts import PROMPTS
from exam_pp.store.passages.graded_file import read_passages
from exam_pp.store.passages.journal import Journal

TEXTS = {"q1": "who wrote the text", "007": "where is it from"}


def run(
    passages: Path, llm: FakeLLM, *classes: str, bank: TestBank | None = None, **options: Any
) -> tuple[list[QueryPassages], GradeSummary]:
    summary = GradeSummary()
    graded = grade(
        read_passages(passages),
        bank or TestBank({}),
        Answerer(llm, Journal(None)),
        model=llm.name,
        provenance=llm.provenance(),
        options=GradeOptions(prompts=[PROMPTS.get(name) for name in classes], **options),
        summary=summary,
        query_texts=TEXTS if bank is None else {},
    )
    return list(graded), summary


def direct(queries: list[QueryPassages]) -> list[DirectGrade]:
    return [grade for query in queries for p in query.passages for grade in p.direct_grades or ()]


@pytest.mark.parametrize(
    ("reply", "ratings"), [("Yes.", {"direct": 1}), ("No, because", {"direct": 0}), ("unanswerable", {})]
)
def test_yes_no(tiny_passages: Path, reply: str, ratings: dict[str, int]) -> None:
    queries, summary = run(tiny_passages, FakeLLM(lambda request: reply), "FagB")
    grades = direct(queries)
    assert [(g.entry_ratings(), g.answer, g.prompt_type) for g in grades] == [
        (ratings, reply, "direct_grading")
    ] * 3
    assert (summary.graded, summary.ungraded) == ((3, 0) if ratings else (0, 3))
    assert (grades[0].error or {}).get("response") == (None if ratings else reply)


@pytest.mark.parametrize(
    ("reply", "rating"),
    [("2", 2), ("0", 0), ("1: may be partly helpful", 1), ("3", None), ("relevant", None)],
)
def test_replies_to_the_prompt_thomas_without_a_number_stay_ungraded(
    tiny_passages: Path, reply: str, rating: int | None
) -> None:
    queries, summary = run(tiny_passages, FakeLLM(lambda request: reply), "Thomas")
    assert summary.sources == ({} if rating is None else {"number": 3})
    assert (summary.queries, summary.passages) == (2, 3)
    for label in direct(queries):
        assert (label.self_ratings, label.relevance_label) == (rating, rating)
        assert bool(label.error) == (rating is None)
