"""Parts of messages: counts with nouns, shortened lists, control characters."""

from __future__ import annotations

import pytest

from exam_pp.text.wording import counted, in_one_line, listed, no_query, printable


@pytest.mark.parametrize(
    ("count", "forms", "expected"),
    [
        (1, ("query",), "1 query"),
        (0, ("query",), "0 queries"),
        (2, ("bank entry",), "2 bank entries"),
        (3, ("key",), "3 keys"),
        (2, ("set of grades", "sets of grades"), "2 sets of grades"),
        (1, ("query has", "queries have"), "1 query has"),
        (5, ("query has", "queries have"), "5 queries have"),
    ],
)
def test_counts_with_nouns(count: int, forms: tuple[str, ...], expected: str) -> None:
    assert counted(count, *forms) == expected


def test_long_lists_are_shortened() -> None:
    assert listed([]) == ""
    assert listed("abcde") == "a, b, c, d, e"
    assert listed("abcdef", "; ") == "a; b; c; d; e; ..."


@pytest.mark.parametrize(
    ("query_id", "hint"), [("7", " Did you mean '007'?"), ("tide", " Did you mean 'tides'?"), ("x", "")]
)
def test_a_similar_query_is_suggested(query_id: str, hint: str) -> None:
    assert (
        no_query("bank.jsonl", query_id, {"007", "tides"}) == f"bank.jsonl has no query {query_id!r}.{hint}"
    )


def test_line_ends_and_control_characters_are_escaped() -> None:
    assert in_one_line("key 'a\nb\x1b[2J', line\u2028 – ü\t") == "key 'a\\nb\\x1b[2J', line\\u2028 – ü\\t"


def test_characters_that_reverse_a_text_are_escaped_and_joiners_are_not() -> None:
    assert in_one_line("\u202egpj.exe\u2066") == "\\u202egpj.exe\\u2066"
    joined = "\u0645\u06cc\u200c\u062e \u05d0"  # Persian with a zero-width non-joiner, Hebrew
    assert in_one_line(joined) == printable(joined) == joined
