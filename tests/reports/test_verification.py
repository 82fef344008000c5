"""What people see when they verify the grading."""

from __future__ import annotations

from typing import Any

import pytest

from exam_pp.data_model import Passage
from exam_pp.grade_filter import GradeFilter, GradeSelector
from exam_pp.reports.document import Heading, Paragraph, Table
from exam_pp.reports.verification import (
    GradedEntry,
    GradedPair,
    graded_entries,
    grading_pages,
    grading_table,
)
from exam_pp.test_bank import Entry, Question

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


def passage(passage_id: str, *sets: dict[str, Any], relevance: tuple[int, ...] = ()) -> Passage:
    judgments = [
        {"paragraphId": passage_id, "query": f"q/{n}", "relevance": r, "titleQuery": "q"}
        for n, r in enumerate(relevance)
    ]
    return Passage.model_validate(
        {
            "paragraph_id": passage_id,
            "text": f"Text of {passage_id}.",
            "paragraph_data": {"judgments": judgments, "rankings": []},
            "exam_grades": list(sets),
        }
    )


def listed(
    *passages: Passage, bank: dict[str, Entry] | None = BANK, answers_class: str | None = None
) -> dict[str, GradedEntry]:
    selector = GradeSelector(GradeFilter(prompt_class=RATED))
    found = graded_entries("q", passages, bank, selector, answers_class)
    return {entry.entry_id: entry for entry in found}


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


def test_answers_are_those_of_the_same_model_and_the_wanted_prompt() -> None:
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


def test_replies_that_are_not_the_number() -> None:
    subject = passage(
        "p",
        rated(
            {"q/a": 1, "q/b": 4},
            {"q/a": "6 months", "q/b": " 4 "},
            sources={"q/a": "default-1", "q/b": "number"},
        ),
    )
    entries = listed(subject)
    pair = entries["q/a"].pairs[0]
    assert (pair.reply, pair.source, pair.by_default) == ("6 months", "default-1", True)
    assert (entries["q/b"].pairs[0].reply, entries["q/b"].pairs[0].by_default) == (None, False)


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


def test_without_a_bank_ids_stand_for_texts() -> None:
    entries = listed(passage("p", rated({"q/x": 2})), bank=None)
    assert [(entry.entry_id, entry.text) for entry in entries.values()] == [("q/x", "q/x")]


def test_direct_grades_are_one_entry() -> None:
    subject = Passage.model_validate(
        {
            "paragraph_id": "p",
            "text": "x",
            "grades": [
                {"correctAnswered": True, "answer": "2, because", "llm": "m", "self_ratings": 2,
                 "prompt_info": {"prompt_class": "Thomas"}}
            ],
        }
    )  # fmt: skip
    selector = GradeSelector(GradeFilter(prompt_class="Thomas"))
    (entry,) = graded_entries("q", [subject], BANK, selector)
    assert entry.entry_id == "direct"
    assert (entry.pairs[0].rating, entry.pairs[0].reply) == (2, "2, because")


def test_only_the_best() -> None:
    pairs = [GradedPair(f"p{r}", "x", None, r, None, reason=None) for r in (5, 3, 1)]
    entry = GradedEntry("q", "e", "E", [*pairs, GradedPair("p", "x", None)])
    assert [pair.rating for pair in entry.only(None, 2).pairs] == [5, 3]
    assert entry.only(None, 2).omitted == 2
    assert [pair.rating for pair in entry.only(1, None).pairs] == [5, 3, 1]
    assert entry.only(1, 1).omitted == 3


def test_pages_for_people() -> None:
    entry = GradedEntry(
        "q", "e", PIONEERS,
        [
            GradedPair("p1", "A text.", 3, 5, "number", "Elvis", None, None),
            GradedPair("p2", "A text.", None, 1, "default-1", None, "6 months", None),
            GradedPair("p3", "A text.", None, None, "ungraded", None, "hm", "timed out"),
        ],
        omitted=2,
    )  # fmt: skip
    report = grading_pages([entry], "Verify", {"q": "rock"}, ["A note."])
    assert list(report.blocks[:3]) == [Paragraph("A note."), Heading("q: rock"), Heading(PIONEERS, level=2)]
    assert report.blocks[4] == Paragraph("2 more passages are not shown.")
    table = report.blocks[3]
    assert isinstance(table, Table)
    assert table.columns == ["rating", "answer", "judgment", "passage", "note", "text"]
    assert [list(row) for row in table.rows] == [
        [5, "Elvis", 3, "p1", "", "A text."],
        [1, None, None, "p2", 'default-1 reply "6 months"', "A text."],
        [None, None, None, "p3", 'ungraded: timed out reply "hm"', "A text."],
    ]


def test_columns_without_anything_are_left_out() -> None:
    entry = GradedEntry("q", "e", "E", [GradedPair("p1", "A text.", None, 5, None, None, None, None)])
    table = grading_pages([entry], "Verify", {}).blocks[2]
    assert isinstance(table, Table)
    assert table.columns == ["rating", "passage", "text"]


def test_one_table_for_scripts() -> None:
    pair = GradedPair("p1", "A text.", 3, 5, "number", "Elvis", None, None)
    (table,) = grading_table([GradedEntry("q", "e", "E", [pair])], "Verify").blocks
    assert isinstance(table, Table)
    assert [dict(zip(table.columns, row, strict=True)) for row in table.rows] == [
        {
            "query_id": "q", "entry_id": "e", "entry": "E", "rating": 5, "source": "number",
            "answer": "Elvis", "judgment": 3, "passage_id": "p1", "reply": None, "reason": None,
            "text": "A text.",
        }
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["word " * 100, "x" * 1000, "two\nlines\tand a tab", "", "日本語" * 200])
def test_long_texts_are_shortened_to_one_line(text: str) -> None:
    subject = passage("p", rated({"q/a": 1}))
    subject.text = text
    shown = listed(subject)["q/a"].pairs[0].text
    assert len(shown) <= 200
    assert "\n" not in shown
    assert bool(shown) == bool(text.strip())
    assert shown.split()[:3] == text.split()[:3] or shown.endswith("…")
