"""Verification reports over files."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from exam_pp.errors import SelectionError
from exam_pp.grade_filter import GradeFilter
from exam_pp.phases.review.checked_file import Shown, checked_file
from exam_pp.rendering.document import Report, Table
from exam_pp.reports.review.verification.grading import grading
from exam_pp.reports.review.verification.grid import grid
from exam_pp.reports.review.verification.spurious import spurious
from exam_pp.reports.review.verification.uncovered import uncovered
from exam_pp.reports.review.verification.unparsed import unparsed
from tests.conftest import passage, rubric
from tests.reports.review.verification.material import rows_of

Write = Callable[[str, list[Any]], Path]

EVERYTHING = GradeFilter()


@pytest.fixture
def golden(repository: Path) -> tuple[Path, Path]:
    """The graded file and the bank of the golden reports."""
    folder = repository / "tests" / "golden" / "reports"
    return folder / "graded.jsonl", folder / "bank.jsonl"


def flat(
    graded: Path,
    grade_filter: GradeFilter = EVERYTHING,
    report: Callable[..., Report] = grading,
    bank: Path | None = None,
    **shown: Any,
) -> list[dict[str, Any]]:
    checked = checked_file(graded, grade_filter, bank=bank, shown=Shown(**shown))
    return rows_of(report(checked, flat=True))


@pytest.mark.parametrize(
    ("grade_filter", "shown", "message"),
    [
        (EVERYTHING, {"queries": ["q9"]}, "'q9'"),
        (EVERYTHING, {"answers_class": "Nope"}, r"'Nope' \(--grades answers\).* Quest"),
        (GradeFilter(model="gpt-4"), {}, r"filter.* --prompt 'QuestionSelfRated"),
        (EVERYTHING, {"systems": ["bm52"]}, r"'bm52'.* bm25"),
    ],
)
def test_a_selection_without_matches_is_refused(
    grade_filter: GradeFilter, shown: dict[str, Any], message: str, tiny_passages: Path
) -> None:
    with pytest.raises(SelectionError, match=message):
        flat(tiny_passages, grade_filter, **shown)


def test_a_bank_of_other_queries_is_refused(tiny_passages: Path, write_jsonl: Write) -> None:
    item = {"query_id": "x", "question_id": "x/1", "question_text": "Why?"}
    bank = write_jsonl("other.jsonl", [{"query_id": "x", "items": [item]}])
    with pytest.raises(SelectionError, match=r"other\.jsonl.* entries .*graded\.jsonl"):
        flat(tiny_passages, bank=bank)


def test_queries_outside_the_bank_are_left_out(
    tiny_passages: Path, tiny_bank: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tiny_bank.write_text(tiny_bank.read_text().splitlines()[0] + "\n")
    rows = flat(tiny_passages, EVERYTHING, bank=tiny_bank)
    assert {row["query_id"] for row in rows} == {"q1"}
    assert "1 query (007) without an entry" in caplog.text


def test_filters_of_passages(golden: tuple[Path, Path]) -> None:
    graded, bank = golden

    def ids(**shown: Any) -> set[str]:
        return {row["passage_id"] for row in flat(graded, bank=bank, **shown)}

    assert ids(systems=["dense"]) == {"r1", "r2", "r4", "r8", "t3"}
    assert ids(systems=["dense", "bm25"], queries=["tide"]) == {"t1", "t2", "t3"}
    assert ids(min_judgment=2) == {"r1", "r2", "r8", "t1"}
    assert ids(min_judgment=1, systems=["bm25"]) == {"r1", "r7", "t1", "t2"}
    assert ids(min_judgment=4) == set(), "no judgment is that high, which is not an error"


def direct(rating: int | None, **keys: Any) -> dict[str, Any]:
    ratings = {} if rating is None else {"self_ratings": rating}
    return {"correctAnswered": bool(rating), "answer": str(rating), "llm": "m", "llm_options": {}, **ratings,
            "prompt_info": {"prompt_class": "Thomas"}, "prompt_type": "direct_grading", **keys}  # fmt: skip


def test_direct_grades(write_jsonl: Write, tiny_bank: Path) -> None:
    """The scale of Thomas ends at 2, so 2 is the grade that covers; a failed reply is ungraded."""
    error = {"failure_reason": "timed out", "response": "", "prompt": ""}
    passages = [
        passage("p1", exam_grades=[rubric({"q1/a": 5})], grades=[direct(2)]),
        passage("p2", grades=[direct(1)]),
        passage("p3", grades=[direct(None, llm_response_error=error)]),
    ]
    for raw in passages:
        raw["paragraph_data"]["judgments"] = [
            {"paragraphId": raw["paragraph_id"], "query": "q1", "relevance": 1, "titleQuery": "q1"}
        ]
    graded = write_jsonl("direct.jsonl", [["q1", passages]])
    only = GradeFilter(kind="direct")
    rows = flat(graded, only, uncovered, bank=tiny_bank)
    assert [(row["passage_id"], row["best_grade"], row["entry"]) for row in rows] == [
        ("p2", 1, "direct grade")
    ]
    (row,) = flat(graded, only, unparsed, bank=tiny_bank)
    assert (row["kind"], row["passage_id"], row["reason"]) == ("ungraded", "p3", "timed out")


def test_entries_that_were_removed_from_the_bank_do_not_count(
    tiny_passages: Path, tiny_bank: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lines = [json.loads(line) for line in tiny_bank.read_text().splitlines()]
    lines[0]["items"] = lines[0]["items"][1:]
    tiny_bank.write_text("".join(json.dumps(line) + "\n" for line in lines))
    rows = flat(tiny_passages, report=uncovered, bank=tiny_bank)
    assert [(row["passage_id"], row["best_grade"]) for row in rows] == [("p1", 0)], "q1/a graded p1 with 5"
    assert "1 graded id" in caplog.text


def test_a_duplicate_passage_of_a_line_counts_once(write_jsonl: Write) -> None:
    twice = [passage(exam_grades=[rubric({"q/a": 5})]), passage(exam_grades=[rubric({"q/b": 3})])]
    rows = flat(write_jsonl("twice.jsonl", [["q", twice]]), report=grid)
    assert [(row["entry_id"], row["rating"], row["covered"]) for row in rows] == [
        ("q/a", 5, 1),
        ("q/b", 3, 1),
    ]


def test_a_query_on_two_lines(
    tiny_passages: Path, write_jsonl: Write, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (json.loads(line) for line in tiny_passages.read_text().splitlines())
    split = write_jsonl("split.jsonl", [["q1", first[1][1:]], second, ["q1", first[1][:1]]])
    for report in (grid, partial(uncovered, min_judgment=4), partial(spurious, min_judgment=4, often=1)):
        assert flat(split, report=report) == flat(tiny_passages, report=report)
    assert "1 query" in caplog.text
    assert "exam-pp merge" in caplog.text


def test_a_mistake_covers_nothing(write_jsonl: Write) -> None:
    judgment = {"paragraphId": "p", "query": "q", "relevance": 1, "titleQuery": "q"}
    passages = [
        passage(f"p{n}", paragraph_data={"judgments": [judgment | {"relevance": relevance}], "rankings": []},
                exam_grades=[rubric({"q/a": 1, "q/b": 5})])
        for n, relevance in enumerate((1, 0, 0, 0))
    ]  # fmt: skip
    items = [
        {"query_id": "q", "question_id": f"q/{key}", "question_text": f"About {key}", "weight": weight}
        for key, weight in (("a", 1), ("b", -1))
    ]
    bank = write_jsonl("bank.jsonl", [{"query_id": "q", "items": items}])
    graded = write_jsonl("graded.jsonl", [["q", passages]])
    checked = checked_file(graded, EVERYTHING, bank=bank)
    (row,) = rows_of(uncovered(checked, flat=True))
    assert (row["passage_id"], row["best_grade"], row["entry_id"]) == ("p0", 1, "q/a")
    assert not rows_of(spurious(checked, flat=True)), "mistakes are what such passages may make"
    page = grid(checked)
    legend, table = [block for block in page.blocks if isinstance(block, Table)]
    assert [row[:3] for row in legend.rows] == [[1, 0, "About a"], [2, 4, "About b (to avoid)"]]
    assert list(table.rows[0][:6]) == [1, 1, 0, "p0", 1, "5 !"]
    assert not table.boxed
