"""Small graded passages, and the content of verification reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exam_pp.banks import Entry, Question
from exam_pp.data_model import Passage
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.phases.review.checked_file import CheckedFile
from exam_pp.phases.review.checked_passages import (
    CheckedQuery,
    checked_passages,
    entries_of,
    in_bank_order,
)
from exam_pp.provenance import Provenance
from exam_pp.rendering.document import Paragraph, Report, Table

RATED = "QuestionSelfRatedUnanswerablePromptWithChoices"
EXTRACTION = "QuestionCompleteConciseUnanswerablePromptWithChoices"
PIONEERS = "Which musicians or bands are considered pioneers of rock n roll?"
BANK: dict[str, Entry] = {
    "q/a": Question(query_id="q", question_id="q/a", question_text=PIONEERS),
    "q/b": Question(query_id="q", question_id="q/b", question_text="When did it begin?"),
}


def grades(prompt_class: str, answers: dict[str, str], model: str = "m", **keys: Any) -> dict[str, Any]:
    return {
        "correctAnswered": list(answers),
        "wrongAnswered": [],
        "answers": list(answers.items()),
        "llm": model,
        "prompt_info": {"prompt_class": prompt_class},
        **keys,
    }


def rated(ratings: dict[str, int], replies: dict[str, str] | None = None, **keys: Any) -> dict[str, Any]:
    sources = keys.pop("sources", {})
    entries = [
        {"question_id": i, "self_rating": r, **({"source": sources[i]} if i in sources else {})}
        for i, r in ratings.items()
    ]
    replies = {i: str(r) for i, r in ratings.items()} | (replies or {})
    return grades(RATED, replies, self_ratings=entries, **keys)


def passage(
    passage_id: str, *sets: dict[str, Any], relevance: Sequence[int] = (), text: str | None = None
) -> Passage:
    judgments = [
        {"paragraphId": passage_id, "query": f"q/{n}", "relevance": r, "titleQuery": "q"}
        for n, r in enumerate(relevance)
    ]
    values: dict[str, Any] = {
        "paragraph_id": passage_id,
        "text": f"Text of {passage_id}." if text is None else text,
        "paragraph_data": {"judgments": judgments, "rankings": []},
        "exam_grades": list(sets),
    }
    return Passage(**values)


def checked(
    *passages: Passage,
    bank: dict[str, Entry] | None = BANK,
    answers_class: str | None = None,
    min_grade: int = 4,
) -> CheckedFile:
    """A file with the passages of one query, as reports see them."""
    selector = GradeSelector(GradeFilter(prompt_class=RATED))
    of_query = checked_passages(passages, selector, answers_class)
    entries, _ = entries_of(of_query, bank)
    query = CheckedQuery("q", "rock", entries, [in_bank_order(one, entries) for one in of_query])
    return CheckedFile([query], min_grade, Provenance(("m",), (RATED,)))


def summary(report: Report) -> str:
    """The first paragraph of a report."""
    block = report.blocks[0]
    assert isinstance(block, Paragraph)
    return block.text


def rows_of(report: Report) -> list[dict[str, Any]]:
    """The rows of the table for scripts."""
    table = report.blocks[1]
    assert isinstance(table, Table)
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]
