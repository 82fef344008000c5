"""Near-duplicate entries, and entries that only look similar."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exam_pp.metrics.duplicates import SeenTexts, near_duplicates


def test_texts_at_the_similarity_limit_are_near_duplicates() -> None:
    texts = {"a": "red green blue white", "b": "red green blue black"}
    assert [pair.similarity for pair in near_duplicates(texts, 0.75)] == [0.75]
    assert near_duplicates(texts, 0.76) == []


@pytest.mark.parametrize(
    ("first", "second", "similarity"),
    [
        ("Who wrote the text?", "who wrote  the text", 1.0),
        ("Mississippi has income tax.", "Income tax in Mississippi.", 0.99),
        ("Public access to naturalization records.", "Access to naturalization records.", 6 / 7),
        ("Birthdate of Vanessa Redgrave", "Vanessa Redgrave's birthdate", 0.99),
        ("Carnitine production", "Elvis Presley", None),
        ("Men clients", "Women clients", None),
        (
            "What type of accommodations are typically offered in a hotel?",
            "What type of accommodations are typically offered in a motel?",
            None,
        ),
        ("Who won the war of independence in 1969?", "Who won the war of independence in 1970?", None),
        (
            "Who won the long bitter war of independence of the northern colonies in 1969?",
            "Who won the long bitter war of independence of the northern colonies in 1970?",
            None,
        ),
        ("the", "of", None),
    ],
)
def test_pairs(first: str, second: str, similarity: float | None) -> None:
    result = near_duplicates({"a": first, "b": second})
    assert [pair.similarity for pair in result] == pytest.approx([] if similarity is None else [similarity])


WORDS = ("tides", "moon", "light", "sky", "1969", "1970", "the", "waves")


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=5).map(" ".join), max_size=8))
def test_seen_texts_are_those_of_the_pairs(texts: list[str]) -> None:
    """A text repeats an earlier one if and only if they are a pair of near duplicates."""
    seen = SeenTexts()
    repeats = set()
    for number, text in enumerate(texts):
        if seen.duplicate_of(text) is not None:
            repeats.add(str(number))
        seen.add(str(number), text)
    pairs = near_duplicates({str(number): text for number, text in enumerate(texts)})
    assert repeats == {pair.second for pair in pairs}
