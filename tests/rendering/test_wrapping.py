"""Tables that are fitted to the width of a terminal."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from exam_pp.rendering.document import Report, Table
from exam_pp.rendering.render import render
from exam_pp.rendering.text import text
from exam_pp.rendering.wrapping import NARROWEST, cell_width, wrapped_rows

WORDS = "How efficient are heat pumps compared with gas boilers in old houses"


def fitted(*blocks: Any, width: int) -> str:
    return text(Report("", blocks), width)


def test_texts_are_wrapped_and_numbers_are_not() -> None:
    table = Table(("query", "text", "tokens"), [("q1", WORDS, 123456789), ("q2", "Short.", 5)])
    assert fitted(table, width=40) == (
        "query  text                       tokens\n"
        "-----  ----------------------  ---------\n"
        "q1     How efficient are heat  123456789\n"
        "       pumps compared with\n"
        "       gas boilers in old\n"
        "       houses\n"
        "q2     Short.                          5\n"
    )


def test_headers_of_numbers_are_wrapped_before_texts_become_narrow() -> None:
    lines = fitted(Table(("text", "share of all pairs"), [(WORDS, 0.25)]), width=34).splitlines()
    assert max(map(len, lines)) <= 34
    assert [line.split()[-1] for line in lines[:4]] == ["share", "of", "all", "pairs"]


def test_without_a_terminal_nothing_is_wrapped() -> None:
    assert WORDS * 9 in render(Report("", [Table(("a", "b"), [(WORDS * 9, 1)])]), "text")


def test_words_stay_whole_if_possible() -> None:
    key = "0123456789abcdef0123456789abcdef"
    lines = fitted(Table(("id", "text"), [(key, WORDS)]), width=60).splitlines()
    assert lines[2].split("  ")[0] == key
    assert max(map(len, lines)) <= 60


@given(
    st.lists(st.tuples(st.text(), st.text("ab 漢字é"), st.integers()), min_size=1, max_size=5),
    st.integers(1, 60),
)
def test_no_text_is_lost(cells: list[tuple[str, str, int]], width: int) -> None:
    rows = [["id", "text", "number"], *([left, middle, str(number)] for left, middle, number in cells)]
    wrapped = wrapped_rows(rows, [False, False, True], width)
    assert len(wrapped) == len(rows)
    for row, lines in zip(rows, wrapped, strict=True):
        for column, cell in enumerate(row):
            parts = [line[column] for line in lines]
            assert "".join("".join(parts).split()) == "".join(cell.split())
        if row[2] != "number":
            assert lines[0][2] == row[2]
    widths = [max(cell_width(line[i]) for lines in wrapped for line in lines) for i in range(3)]
    assert sum(widths) + 4 <= max(width, 2 * NARROWEST + widths[2] + 4)
