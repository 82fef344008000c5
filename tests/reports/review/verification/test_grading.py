"""The verify-grading report: pairs of passage and entry, with answers and notes."""

from __future__ import annotations

from exam_pp.banks import Entry
from exam_pp.cli.review.verification.grading import GradedEntry, Grading, graded_entries
from exam_pp.data_model import Passage
from exam_pp.rendering.document import Heading, Paragraph
from tests.reports.review.verification.material import (
    BANK,
    EXTRACTION,
    PIONEERS,
    grades,
    pages,
    passage,
    query,
    rated,
    table,
)  # fmt: skip


def listed(
    *passages: Passage, bank: dict[str, Entry] | None = BANK, answers_class: str | None = None
) -> dict[str, GradedEntry]:
    entries = graded_entries(query(*passages, bank=bank, answers_class=answers_class))
    return {entry.entry_id: entry for entry in entries}


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
    entry = listed(*passages)["q/a"]
    assert entry.text == PIONEERS
    assert [(pair.rating, pair.answer, pair.judgment) for pair in entry.pairs] == [
        (5, "Elvis Presley—the King of Rock and Roll", 3),
        (0, "rhythm and blues", 0),
        (0, "the 1930s", "1, 2"),
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
    assert listed(subject)["q/a"].pairs[0].answer == "the first, asked again"
    assert listed(subject, answers_class="Custom")["q/a"].pairs[0].answer == "the second"


def test_ungraded_pairs_come_last_with_their_reason() -> None:
    failed = rated(
        {}, llm_response_errors={"q/a": {"failure_reason": "timed out", "response": "", "prompt": "..."}}
    )
    entry = listed(passage("p1", failed), passage("p2"), passage("p3", rated({"q/a": 0})))["q/a"]
    assert [(pair.passage_id, pair.rating, pair.reason) for pair in entry.pairs] == [
        ("p3", 0, None),
        ("p1", None, "timed out"),
        ("p2", None, "not asked"),
    ]


def test_a_failed_call_does_not_hide_an_earlier_rating() -> None:
    failed = rated({}, llm_response_errors={"q/a": {"failure_reason": "timed out"}})
    assert listed(passage("p", rated({"q/a": 3}), failed))["q/a"].pairs[0].rating == 3
    assert listed(passage("p", failed, rated({"q/a": 2}), rated({"q/a": 1})))["q/a"].pairs[0].rating == 1


MIXED = (
    passage("p1", rated({"q/a": 5}), grades(EXTRACTION, {"q/a": "Elvis"}), relevance=[3]),
    passage("p2", rated({"q/a": 1}, {"q/a": "6 months"}, sources={"q/a": "default-1"})),
    passage("p3", rated({}, llm_response_errors={"q/a": {"failure_reason": "timed out", "response": "hm"}})),
    passage("p4"),
)


def test_parts_of_a_query_are_merged() -> None:
    report = Grading(limit=2)
    for part in (MIXED[1:], MIXED[:1]):
        report.add(query(*part, bank={"q/a": BANK["q/a"]}))
    assert [row[7] for row in table(report).rows] == ["p1", "p2"]
    assert len([block for block in pages(report) if isinstance(block, Heading)]) == 2
    assert pages(report)[-1] == Paragraph("2 more passages are not shown.")
