"""Small graded passages, and the selections and reports of the verification reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from exam_pp.banks import Entry, Question
from exam_pp.cli.review.verification import (
    disagreements,
    grading,
    grid,
    spurious,
    uncovered,
    unparsed,
)
from exam_pp.cli.review.verification.base import Selection, VerificationReport
from exam_pp.cli.review.verification.disagreements import Disagreements
from exam_pp.cli.review.verification.grading import Grading
from exam_pp.cli.review.verification.grid import Grid
from exam_pp.cli.review.verification.spurious import Spurious
from exam_pp.cli.review.verification.uncovered import Uncovered
from exam_pp.cli.review.verification.unparsed import Unparsed
from exam_pp.data_model import Passage
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.phases.review.checked_passages import (
    CheckedQuery,
    checked_passages,
    entries_of,
    in_bank_order,
)
from exam_pp.rendering.document import Block, Table

REPORTS: dict[type[Selection], VerificationReport[Any]] = {
    Disagreements: disagreements.REPORT,
    Grading: grading.REPORT,
    Grid: grid.grid_report(),
    Spurious: spurious.REPORT,
    Uncovered: uncovered.REPORT,
    Unparsed: unparsed.REPORT,
}

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


def query(
    *passages: Passage,
    bank: dict[str, Entry] | None = BANK,
    answers_class: str | None = None,
    query_id: str = "q",
    text: str = "rock",
    min_grade: int = 4,
    prompt_class: str = RATED,
) -> CheckedQuery:
    """The passages as reports see them, by the selector and the rules of the phase."""
    selector = GradeSelector(GradeFilter(prompt_class=prompt_class))
    checked = checked_passages(passages, selector, answers_class)
    entries, _ = entries_of(checked, bank)
    return CheckedQuery(query_id, text, entries, [in_bank_order(one, entries) for one in checked], min_grade)


def summary(selection: Selection) -> str:
    return REPORTS[type(selection)].summary(selection)


def pages(selection: Selection) -> list[Block]:
    return list(REPORTS[type(selection)].blocks(selection))


def table(selection: Selection) -> Table:
    return REPORTS[type(selection)].table(selection)
