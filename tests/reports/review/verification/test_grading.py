"""The verify-grading report: pairs of passage and entry, with answers and notes."""

from __future__ import annotations

from typing import Any

from exam_pp.data_model import Passage
from exam_pp.reports.review.verification.grading import grading
from tests.reports.review.verification.material import (
    EXTRACTION,
    PIONEERS,
    checked,
    grades,
    passage,
    rated,
    rows_of,
)


def listed(*passages: Passage, answers_class: str | None = None) -> list[dict[str, Any]]:
    """The rows of the entry q/a."""
    rows = rows_of(grading(checked(*passages, answers_class=answers_class), flat=True))
    return [row for row in rows if row["entry_id"] == "q/a"]


def test_passages_by_rating_with_extracted_answers() -> None:
    """The example of the workbench paper, section 6."""
    passages = [
        passage("p1", grades(EXTRACTION, {"q/a": "rhythm and blues"}), rated({"q/a": 0}), relevance=(0,)),
        passage(
            "p2",
            rated({"q/a": 5}),
            grades(EXTRACTION, {"q/a": "Elvis Presley—the King of Rock and Roll"}),
            relevance=(3,),
        ),
        passage("p3", rated({"q/a": 0}), grades(EXTRACTION, {"q/a": "the 1930s"}), relevance=(2, 1, 2)),
    ]
    rows = listed(*passages)
    assert {row["entry"] for row in rows} == {PIONEERS}
    assert [(row["rating"], row["answer"], row["judgment"]) for row in rows] == [
        (5, "Elvis Presley—the King of Rock and Roll", 3),
        (0, "rhythm and blues", 0),
        (0, "the 1930s", 2),
    ]


def test_answers_are_of_the_same_model_and_the_selected_prompt() -> None:
    subject = passage(
        "p",
        rated({"q/a": 5}),
        grades(EXTRACTION, {"q/a": "another model's"}, model="other"),
        grades(EXTRACTION, {"q/a": "the first"}),
        grades("Custom", {"q/a": "the second"}),
        grades(EXTRACTION, {"q/a": "the first, asked again"}),
    )
    assert listed(subject)[0]["answer"] == "the first, asked again"
    assert listed(subject, answers_class="Custom")[0]["answer"] == "the second"


def test_ungraded_pairs_come_last_with_their_reason() -> None:
    failed = rated(
        {}, llm_response_errors={"q/a": {"failure_reason": "timed out", "response": "", "prompt": "..."}}
    )
    rows = listed(passage("p1", failed), passage("p2"), passage("p3", rated({"q/a": 0})))
    assert [(row["passage_id"], row["rating"], row["reason"]) for row in rows] == [
        ("p3", 0, None),
        ("p1", None, "timed out"),
        ("p2", None, "not asked"),
    ]


def test_a_failed_call_does_not_hide_an_earlier_rating() -> None:
    failed = rated({}, llm_response_errors={"q/a": {"failure_reason": "timed out"}})
    assert listed(passage("p", rated({"q/a": 3}), failed))[0]["rating"] == 3
    assert listed(passage("p", failed, rated({"q/a": 2}), rated({"q/a": 1})))[0]["rating"] == 1


def test_passages_beyond_the_limit_are_counted() -> None:
    passages = [passage(f"p{rating}", rated({"q/a": rating, "q/b": 0})) for rating in (1, 5, 4)]
    report = grading(checked(*passages), min_grade=4, limit=1)
    assert report.notes[1:] == ["2 more passages are not shown.", "3 passages are not shown."]
