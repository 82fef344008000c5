"""Verification reports and review pages of large published files."""

from __future__ import annotations

from pathlib import Path

from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.review.checked_file import checked_file
from exam_pp.reports.review.verification.grading import grading
from tests.phases.review.test_review_material import review
from tests.reports.review.verification.material import rows_of, summary
from tests.review_pages import blocks


def test_real_grades_of_flan_t5(shared_data: Path) -> None:
    """612 of the 72,630 question ratings are not a digit from 0 to 5, as the data's description counts."""
    graded = shared_data / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz"
    report = grading(checked_file(graded, GradeFilter(kind="question")), flat=True)
    rows = rows_of(report)
    assert len(rows) == 72_630
    assert "72630 pairs: 612 with a reply that is not just the rating" in summary(report)
    assert sum(row["reply"] is not None for row in rows) == 612
    assert all(row["answer"] is not None for row in rows), "every rating has its extracted answer"
    assert {"6 months", "42"} <= {row["reply"] for row in rows}


def test_a_whole_collection(shared_data: Path) -> None:
    """The page of TREC DL 2019 with GPT-4's grades has all ratings and less than 30 MB."""
    folder = shared_data / "dl19-gpt4"
    page = review(folder / "dl19-graded.jsonl.gz", folder / "dl19-gpt4-questions.jsonl.gz")
    data = blocks(page)
    assert len(page) < 30_000_000
    queries = data["head"]["queries"]
    assert (len(queries), sum(query["passages"] for query in queries)) == (43, 9260)
    counts = [sum(query["graders"][0]["ratings"][rating] for query in queries) for rating in range(6)]
    assert (sum(counts), counts[4]) == (92_592, 19)
    assert len(data["texts"]) == 60, "passages of several queries"
