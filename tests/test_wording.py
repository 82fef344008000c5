"""Numbers with their nouns, and messages that stay messages."""

from __future__ import annotations

import pytest

from exam_pp.wording import counted, in_one_line, listed


@pytest.mark.parametrize(
    ("count", "forms", "words"),
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
def test_numbers_agree_with_their_nouns(count: int, forms: tuple[str, ...], words: str) -> None:
    assert counted(count, *forms) == words


def test_long_lists_are_cut() -> None:
    assert listed([]) == ""
    assert listed("abcde") == "a, b, c, d, e"
    assert listed("abcdef", "; ") == "a; b; c; d; e; ..."


def test_a_message_is_one_line_and_commands_no_terminal() -> None:
    assert in_one_line("key 'a\nb\x1b[2J', line\u2028 – ü\t") == "key 'a\\nb\\x1b[2J', line\\u2028 – ü\\t"
