"""Answers as passages: whole, by sentence, by paragraph."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.phases.interchange.answer_units import Unit, answer_units
from exam_pp.store.trec.answers import Answer, AnswerPart
from exam_pp.text.sentences import sentences

PLAIN = Answer("q", "s", (AnswerPart("One is here. Two is there!  Three?"),), by_sentence=False)
RAG = Answer("q", "s", (AnswerPart(" One. More.", ("a", "b")), AnswerPart("Two. ", ("b", "c"))))


def test_units_of_a_rag_answer() -> None:
    assert answer_units(RAG, "sentence") == [
        AnswerPart("One. More.", ("a", "b")),
        AnswerPart("Two.", ("b", "c")),
    ]
    for unit in ("whole", "paragraph"):
        assert answer_units(RAG, unit) == [AnswerPart("One. More. Two.", ("a", "b", "c"))]


def test_paragraphs_end_with_sentences() -> None:
    texts = [part.text for part in answer_units(PLAIN, "paragraph", max_words=6)]
    assert texts == ["One is here. Two is there!", "Three?"]
    assert [part.text for part in answer_units(PLAIN, "paragraph", max_words=2)] == [
        "One is here.",
        "Two is there!",
        "Three?",
    ]


def test_the_parts_of_a_long_element_keep_its_citations() -> None:
    long = Answer("q", "s", (AnswerPart("One is here. Two is there.", ("a",)), AnswerPart("Three.", ("b",))))
    assert answer_units(long, "paragraph", max_words=4) == [
        AnswerPart("One is here.", ("a",)),
        AnswerPart("Two is there. Three.", ("a", "b")),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Dr. Smith paid 3.5 dollars. It was e.g. cheap.",
            ["Dr. Smith paid 3.5 dollars.", "It was e.g. cheap."],
        ),
        ("J. R. R. Tolkien wrote it. Yes.", ["J. R. R. Tolkien wrote it.", "Yes."]),
        ("Rain vs. snow? Snow (see below) wins!", ["Rain vs. snow?", "Snow (see below) wins!"]),
        ("A list:\n- one\n- two\n\nAn end", ["A list:", "- one", "- two", "An end"]),
        ("# Title\nWords go\non. 2024 came.", ["# Title\nWords go\non.", "2024 came."]),
        ("The answer is no. It is not.", ["The answer is no.", "It is not."]),
        ("  no full stop ", ["no full stop"]),
        ("", []),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert [sentence.strip() for sentence in sentences(text)] == expected


WORDS = st.sampled_from(
    ["alpha", "Beta", "3.5", "Dr.", "end.", "End!", "why?", "\n\n", "- item", "e.g.", "1."]
)
TEXTS = st.lists(WORDS, max_size=40).map(" ".join)


@given(
    st.lists(TEXTS, max_size=4),
    st.booleans(),
    st.sampled_from(["paragraph", "sentence", "whole"]),
    st.integers(1, 30),
)
def test_units_keep_all_words_in_order(
    texts: list[str], by_sentence: bool, unit: Unit, max_words: int
) -> None:
    parts = tuple(AnswerPart(text, (str(i),)) for i, text in enumerate(texts) if text.strip())
    units = answer_units(Answer("q", "s", parts, by_sentence), unit, max_words)
    assert " ".join(part.text for part in units).split() == " ".join(texts).split()
    assert [c for part in parts for c in part.citations] == list(
        dict.fromkeys(c for part in units for c in part.citations)
    )
    if unit == "paragraph":
        for part in units:
            assert len(part.text.split()) <= max_words or len(sentences(part.text)) == 1
