"""Verification reports over files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.verify import Shown, verify
from exam_pp.reports.document import Heading, Paragraph, Table
from exam_pp.reports.render import RENDERERS, render
from exam_pp.reports.verification.base import VerificationReport
from exam_pp.reports.verification.grading import Grading

Write = Callable[[str, list[Any]], Path]

EVERYTHING = GradeFilter()


def test_the_report_of_a_small_file(tiny_passages: Path, tiny_bank: Path) -> None:
    report = verify(tiny_passages, Grading(), EVERYTHING, bank=tiny_bank)
    assert report.title == (
        "Verify grading: QuestionSelfRatedUnanswerablePromptWithChoices by google/flan-t5-large"
    )
    headings = [block.text for block in report.blocks if isinstance(block, Heading)]
    assert headings == [
        "q1: the query q1", "What text is this?", "Who wrote the text?",
        "007: the query 007", "Where is the text from?",
    ]  # fmt: skip
    assert isinstance(report.blocks[0], Paragraph)
    assert report.blocks[0].text.startswith("2 queries, 3 entries, 5 pairs: 0 with a reply")
    for form in RENDERERS:
        assert render(report, form)


def flat(
    graded: Path,
    grade_filter: GradeFilter = EVERYTHING,
    report: VerificationReport | None = None,
    bank: Path | None = None,
    **shown: Any,
) -> list[dict[str, Any]]:
    options = Shown(flat=True, **shown)
    (table,) = verify(graded, report or Grading(), grade_filter, bank=bank, shown=options).blocks
    assert isinstance(table, Table)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_what_is_shown_can_be_narrowed(tiny_passages: Path) -> None:
    rows = flat(tiny_passages, report=Grading(min_grade=1), queries=["q1"])
    assert [(row["entry_id"], row["passage_id"], row["rating"]) for row in rows] == [
        ("q1/a", "p1", 5), ("q1/a", "p2", 1), ("q1/b", "p2", 4),
    ]  # fmt: skip
    rows = flat(tiny_passages, report=Grading(limit=1))
    assert [row["rating"] for row in rows] == [5, 4, 2]


def test_what_fits_nothing_is_refused(tiny_passages: Path, write_jsonl: Write) -> None:
    with pytest.raises(SelectionError, match="has no query 'q9'"):
        flat(tiny_passages, queries=["q9"])
    with pytest.raises(SelectionError, match="'Nope' of --answers-class; it holds: Quest"):
        flat(tiny_passages, answers_class="Nope")
    with pytest.raises(SelectionError, match="match the filter; it holds"):
        flat(tiny_passages, GradeFilter(model="gpt-4"))
    item = {"query_id": "x", "question_id": "x/1", "question_text": "Why?"}
    bank = write_jsonl("other.jsonl", [{"query_id": "x", "items": [item]}])
    with pytest.raises(SelectionError, match="has no entries for the queries of"):
        flat(tiny_passages, bank=bank)


def test_queries_outside_the_bank_are_left_out(
    tiny_passages: Path, tiny_bank: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tiny_bank.write_text(tiny_bank.read_text().splitlines()[0] + "\n")
    rows = flat(tiny_passages, EVERYTHING, bank=tiny_bank)
    assert {row["query_id"] for row in rows} == {"q1"}
    assert "1 queries have no entry in the bank" in caplog.text


@pytest.mark.slow
def test_real_grades_of_flan_t5(shared_data: Path, caplog: pytest.LogCaptureFixture) -> None:
    """612 of the 72,630 question ratings are not a digit from 0 to 5, as the data's description counts."""
    caplog.set_level("INFO")
    graded = shared_data / "llmjudge-dev" / "flan-t5-large-graded.jsonl.gz"
    rows = flat(graded, GradeFilter(kind="question"))
    assert len(rows) == 72_630
    assert "72630 pairs: 612 with a reply that is not just the rating" in caplog.text
    assert sum(row["reply"] is not None for row in rows) == 612
    assert all(row["answer"] is not None for row in rows), "every rating has its extracted answer"
    assert {"6 months", "42"} <= {row["reply"] for row in rows}


def test_real_grades_of_gpt_4_with_their_bank(shared_data: Path) -> None:
    """92,592 ratings; eight pairs of five passages were never asked."""
    folder = shared_data / "dl19-gpt4"
    rows = flat(folder / "dl19-graded.jsonl.gz", EVERYTHING, bank=folder / "dl19-gpt4-questions.jsonl.gz")
    assert sum(row["rating"] is not None for row in rows) == 92_592
    missing = [row for row in rows if row["rating"] is None]
    assert len(missing) == 8
    assert len({(row["query_id"], row["passage_id"]) for row in missing}) == 5
    assert {row["reason"] for row in missing} == {"not asked"}
    assert sum(row["rating"] == 4 for row in rows) == 19
    assert json.dumps(rows[0])
