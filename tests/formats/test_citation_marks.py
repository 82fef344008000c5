"""Citations in sentences of answers."""

from __future__ import annotations

import pytest

from exam_pp.text.citation_marks import cited_sentences


@pytest.mark.parametrize(
    ("text", "parts", "inside"),
    [
        ("Dense [1] They are round [2][3] I am x[4]",
         [("Dense", "1"), ("They are round", "23"), ("I am x", "4")], 0),
        ("It rises [1, 2]. It falls.", [("It rises.", "12"), ("It falls.", "")], 0),
        ("It rises. [1]\n\nSources: [1], [3]", [("It rises.", "1")], 0),
        ("Dough [1] and bread [2; 3] rise [1].", [("Dough and bread [2; 3] rise.", "1")], 1),
        ("[2] It rises.", [("It rises.", "2")], 1),
        ("[1]", [("[1]", "")], 0),
        ("", [], 0),
    ],
)  # fmt: skip
def test_sentences_have_the_citations_that_follow_them(
    text: str, parts: list[tuple[str, str]], inside: int
) -> None:
    assert cited_sentences(text) == ([(part, tuple(numbers)) for part, numbers in parts], inside)
