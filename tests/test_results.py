"""Scores stored by column: equality with rows, memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from exam_pp.results import Score, Scores

NAMES = st.text(max_size=3)
ROWS = st.lists(st.builds(Score, NAMES, NAMES, NAMES, st.floats(allow_nan=False)))


@given(ROWS, ROWS)
def test_scores_equal_their_rows(rows: list[Score], more: list[Score]) -> None:
    scores = Scores(rows)
    scores.extend(more)
    expected = [*rows, *more]
    assert list(scores) == expected
    assert scores == expected
    assert len(scores) == len(expected)
    assert [scores[index] for index in range(-len(expected), len(expected))] == expected * 2
    assert scores[1:-1] == expected[1:-1]
